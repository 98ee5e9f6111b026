"""What stands before a thought, as a digest.

A newer model refuses a thought when the system prompt, the tools or any message before it is not
what it was when the model had that thought (the vendor's page "Preserved thinking"): after a
compaction, after a handoff, after an edit. So each thought is kept with the digest of the request
that it answered, and goes back only where the same stands before it again. Leaving it out elsewhere
is what the vendor advises; thoughts before the change and after it stay.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lovia.transcript.entries import ReasoningEntry

__all__ = ["PREFIX", "Prefix"]

#: Where a thought keeps the digest of what it answered, in its metadata.
PREFIX: Final = "prefix"


class Prefix:
    """The digest of a request, as it grows message by message.

    Args:
        head: What stands before all messages: the system prompt and the tools.
    """

    def __init__(self, *head: Any) -> None:
        self._hash = sha256()
        self.extend(head)

    def extend(self, items: Iterable[Any]) -> None:
        """Add what comes next."""
        for item in items:
            text = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
            self._hash.update(text.encode("utf-8", "surrogatepass") + b"\n")

    @property
    def digest(self) -> str:
        """The digest of everything so far."""
        return self._hash.copy().hexdigest()[:32]

    def is_of(self, thought: ReasoningEntry) -> bool:
        """Tell whether a thought answered exactly this."""
        return thought.metadata.get(PREFIX) == self.digest
