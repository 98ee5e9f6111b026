"""The engine of the default policy: size the request, run the stages, keep what was decided."""

from __future__ import annotations
