"""What every vendor's wire format needs first: messages that break none of their common rules."""

from __future__ import annotations
