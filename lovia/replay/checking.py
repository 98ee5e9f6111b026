"""Checking every view of a replay at the cost of what is new in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.transcript.entries import ToolResultEntry
from lovia.transcript.pairing import Pairing
from lovia.transcript.validation import validate_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.transcript.entries import TranscriptEntry

__all__ = ["ViewChecker"]


class ViewChecker:
    """Checks the views of one transcript, call by call.

    A view that is the last one followed by what is new in the transcript, as it is between passes,
    keeps what the last one kept; only the pairing of its new end has to be looked at. Any other
    view is checked as a whole, and so is one whose end looks wrong, for the sake of the error.
    """

    def __init__(self) -> None:
        self._view: Sequence[TranscriptEntry] = ()
        self._length = 0  # of the view when it was checked; the transcript itself goes on growing
        self._seen = 0  # entries of the transcript at that time
        self._pairing = Pairing()

    def check(self, view: list[TranscriptEntry], transcript: list[TranscriptEntry]) -> None:
        """Check a view of the transcript so far.

        Raises:
            InvalidViewError: A provider would refuse it, or it broke a promise to its transcript.
        """
        if not self._grew_soundly(view, transcript):
            validate_view(view, transcript=transcript)
            self._pairing = Pairing(view)
        self._view = view if view is transcript else tuple(view)
        self._length, self._seen = len(view), len(transcript)

    def _grew_soundly(self, view: list[TranscriptEntry], transcript: list[TranscriptEntry]) -> bool:
        start = self._length
        if not start or not self._only_grew(view, transcript):
            return False
        self._pairing.extend(view[start:])
        orphans = any(
            isinstance(view[index], ToolResultEntry) and self._pairing.partner[index] < 0
            for index in range(start, len(view))
        )
        return not orphans and not self._pairing.dead_calls()

    def _only_grew(self, view: list[TranscriptEntry], transcript: list[TranscriptEntry]) -> bool:
        if view is transcript:
            return self._view is transcript
        return (
            len(view) - self._length == len(transcript) - self._seen
            and tuple(view[: self._length]) == self._view
            and view[self._length :] == transcript[self._seen :]
        )
