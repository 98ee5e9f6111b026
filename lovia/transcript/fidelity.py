"""What a view owes the transcript it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.errors import InvalidViewError
from lovia.transcript.entries import ReasoningEntry, ToolCallEntry, ToolResultEntry, TranscriptEntry
from lovia.transcript.pairing import Pairing, leading_block, newest_user
from lovia.transcript.text import clean_entry, clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["check_fidelity", "match_view"]


def match_view(view: Sequence[TranscriptEntry], transcript: Sequence[TranscriptEntry]) -> list[int]:
    """Find for each entry of a view the transcript entry that it shows, or -1.

    The match preserves order. Views agree with their transcript at both ends, so the end is matched
    entry by entry, then the beginning, and the rest from its end: an entry is recognised by
    identity, else by equality; then a rewritten call by its id, its tool and its neighbours, and
    the marker of a result by the call that it answers.
    """
    places = _places(transcript)
    tail = _common(reversed(view), reversed(transcript), places)
    last = len(view) - tail
    start = _common(view[:last], transcript[: len(transcript) - tail], places)
    matches = [*range(start), *[-1] * (last - start)]
    matches += range(len(transcript) - tail, len(transcript))
    position = len(transcript) - tail - 1
    for index in range(last - 1, start - 1, -1):
        found = _search_back(view[index], transcript, position, start, places)
        if found >= 0:
            matches[index] = found
            position = found - 1
    _match_rewritten_calls(view, transcript, matches)
    _match_markers(view, transcript, matches)
    return matches


def _common(
    view: Iterable[TranscriptEntry],
    transcript: Iterable[TranscriptEntry],
    places: Mapping[int, Sequence[int]],
) -> int:
    """Return how many leading entries are the same: one object, or equal to a new one."""
    count = 0
    for entry, original in zip(view, transcript, strict=False):
        if entry is not original and (id(entry) in places or not _shows(entry, original)):
            break
        count += 1
    return count


def _places(transcript: Sequence[TranscriptEntry]) -> dict[int, list[int]]:
    """Return the indices at which each object stands; equal texts are often one object."""
    places: dict[int, list[int]] = {}
    for index, entry in enumerate(transcript):
        places.setdefault(id(entry), []).append(index)
    return places


def _match_rewritten_calls(
    view: Sequence[TranscriptEntry], transcript: Sequence[TranscriptEntry], matches: list[int]
) -> None:
    """Match calls that are shown with other arguments, best where their neighbours say."""
    for index, entry in enumerate(view):
        if matches[index] >= 0 or not isinstance(entry, ToolCallEntry):
            continue
        low = max(matches[:index], default=-1)
        high = min((at for at in matches[index + 1 :] if at >= 0), default=len(transcript))
        beside = [low + 1] if index and matches[index - 1] == low else []
        candidates = [*beside, *range(high - 1, low, -1)]
        found = (at for at in candidates if low < at < high and _rewrites(entry, transcript[at]))
        matches[index] = next(found, -1)


def _match_markers(
    view: Sequence[TranscriptEntry], transcript: Sequence[TranscriptEntry], matches: list[int]
) -> None:
    """Match what stands in the place of a result; a call without a result has a marker, too."""
    shown, said = Pairing(view), Pairing(transcript)
    for index, entry in enumerate(view):
        call = shown.partner[index]
        if matches[index] < 0 and isinstance(entry, ToolResultEntry) and call >= 0:
            matches[index] = said.partner[matches[call]] if matches[call] >= 0 else -1


def check_fidelity(view: Sequence[TranscriptEntry], transcript: Sequence[TranscriptEntry]) -> None:
    """Raise :class:`InvalidViewError` when the view breaks a promise to its transcript."""
    _check_leading_block(view, transcript)
    matches = match_view(view, transcript)
    _check_newest_user(view, transcript, matches)
    _check_order(view, transcript, matches)
    _check_reasoning(view, transcript, matches)


def _search_back(
    entry: TranscriptEntry,
    transcript: Sequence[TranscriptEntry],
    position: int,
    start: int,
    places: dict[int, list[int]],
) -> int:
    """Return the last index, from ``position`` down, at which an entry is shown, or -1."""
    if getattr(entry, "origin", "conversation") != "conversation" and id(entry) not in places:
        return -1
    same = [index for index in places.get(id(entry), ()) if start <= index <= position]
    if same:
        return same[-1]
    for candidate in range(position, start - 1, -1):
        if _shows(entry, transcript[candidate]):
            return candidate
    return -1


def _shows(entry: TranscriptEntry, original: TranscriptEntry) -> bool:
    return entry is original or entry == original or entry == clean_entry(original)


def _rewrites(entry: TranscriptEntry, original: TranscriptEntry) -> bool:
    """Tell whether a call is shown with other arguments, or a result by a marker."""
    if isinstance(entry, ToolCallEntry) and isinstance(original, ToolCallEntry):
        same_tool = entry.name == clean_text(original.name)
        return same_tool and entry.call_id == clean_text(original.call_id)
    if isinstance(entry, ToolResultEntry) and isinstance(original, ToolResultEntry):
        return entry.origin == "placeholder" and entry.call_id == clean_text(original.call_id)
    return False


def _check_leading_block(
    view: Sequence[TranscriptEntry], transcript: Sequence[TranscriptEntry]
) -> None:
    for index in range(leading_block(transcript)):
        if index >= len(view) or not _shows(view[index], transcript[index]):
            message = f"Entry {index} differs from the transcript's leading system message."
            hint = "Leave the leading system and developer messages as they are."
            raise InvalidViewError(message, rule="leading_block", index=index, hint=hint)


def _check_newest_user(
    view: Sequence[TranscriptEntry], transcript: Sequence[TranscriptEntry], matches: Sequence[int]
) -> None:
    newest = newest_user(transcript)
    if newest is None or newest in matches or _can_show(newest, view, transcript, matches):
        return
    message = f"The newest user message (entry {newest} of the transcript) is not in the view."
    raise InvalidViewError(message, rule="newest_user", hint="Keep it word for word.")


def _can_show(
    wanted: int,
    view: Sequence[TranscriptEntry],
    transcript: Sequence[TranscriptEntry],
    matches: Sequence[int],
) -> bool:
    """Tell whether a view's entry that was matched to an equal, earlier one may be the wanted one.

    Where a text was said several times, a view does not say which of them it shows.
    """
    for index in range(len(view) - 1, -1, -1):
        if _shows(view[index], transcript[wanted]):
            return True
        if 0 <= matches[index] <= wanted:
            return False
    return False


def _check_order(
    view: Sequence[TranscriptEntry], transcript: Sequence[TranscriptEntry], matches: list[int]
) -> None:
    known = {id(entry) for entry in transcript}
    for index, entry in enumerate(view):
        if matches[index] < 0 and id(entry) in known:
            message = f"Entry {index} stands elsewhere than in the transcript, or twice."
            hint = "Keep the transcript's order."
            raise InvalidViewError(message, rule="order", index=index, hint=hint)


def _check_reasoning(
    view: Sequence[TranscriptEntry], transcript: Sequence[TranscriptEntry], matches: list[int]
) -> None:
    """A call keeps the thoughts of its unit, and a kept thought keeps the unit's calls."""
    pairing = Pairing(transcript)
    shown = set(matches)
    for index, entry in enumerate(view):
        origin = matches[index]
        if origin < 0 or not isinstance(entry, (ToolCallEntry, ReasoningEntry)):
            continue
        other = ReasoningEntry if isinstance(entry, ToolCallEntry) else ToolCallEntry
        for sibling in pairing.units[pairing.unit_of[origin]].indices():
            if isinstance(transcript[sibling], other) and sibling not in shown:
                message = (
                    f"Entry {index} was separated from transcript entry {sibling}, its step's."
                )
                hint = "Keep a reasoning entry and the calls it led to together."
                raise InvalidViewError(message, rule="reasoning", index=index, hint=hint)
