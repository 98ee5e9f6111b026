"""The sticky view: decisions about a transcript, and the list of entries that they give."""

from __future__ import annotations
