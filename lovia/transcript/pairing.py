"""Calls and their results, the units that belong together, and what cannot be parted.

Real histories reuse one id for several calls, lose results, and answer late. So calls and results
pair *by occurrence*: a result answers the earliest unanswered call of its id in the newest batch
that has one. A *unit* is what must be kept or removed together: a model step's reasoning, its calls
and their results. A *legal cut* lies between units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lovia.transcript.entries import (
    AssistantTextEntry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    is_system,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

__all__ = ["NO_RESULT", "Pairing", "Unit", "leading_block", "legal_cuts", "newest_user", "pair"]

#: Stands for the result of a call that was never answered and no longer can be.
NO_RESULT: Final = "no result was recorded"


@dataclass(slots=True)
class Unit:
    """Entries that are kept or removed together.

    Attributes:
        start: First index.
        stop: End of the contiguous part (exclusive).
        late: Indices of results that came after the unit was closed.
        unanswered: Indices of calls that have no result so far.
        closed: Whether something other than its results follows, so that open calls can no longer
            be answered in place.
    """

    start: int
    stop: int
    late: tuple[int, ...] = ()
    unanswered: tuple[int, ...] = ()
    closed: bool = False

    def indices(self) -> list[int]:
        """Return all indices of the unit, in order."""
        return [*range(self.start, self.stop), *self.late]


class Pairing:
    """The structure of a transcript, kept up to date as it grows.

    Adding an entry costs the same however long the transcript is.

    Attributes:
        units: All units in order of their first index.
        unit_of: For each index, the position of its unit in ``units``.
        partner: For each call the index of its result, for each result the index of its call, else
            -1.
        orphans: Indices of results that no call before them asked for.
        upsets: How often a call died, a dead one was answered or a result came without a call; what
            a view adds or leaves out on its own changes with it.
    """

    def __init__(self, entries: Iterable[TranscriptEntry] = ()) -> None:
        self.units: list[Unit] = []
        self.unit_of: list[int] = []
        self.partner: list[int] = []
        self.orphans: list[int] = []
        self.upsets: int = 0
        self._kinds: list[type] = []
        self._open: dict[str, list[int]] = {}
        self._dead: set[int] = set()
        self._batch: int | None = None  # the unit whose calls may still be answered in place
        self.extend(entries)

    def __len__(self) -> int:
        return len(self.partner)

    def extend(self, entries: Iterable[TranscriptEntry]) -> None:
        """Take in the entries that were appended to the transcript."""
        kinds, partner = self._kinds, self.partner
        for entry in entries:
            index, kind = len(partner), type(entry)
            partner.append(-1)
            if kind is ToolResultEntry:
                self._add_result(entry)  # type: ignore[arg-type] # checked by its exact type
            elif kind is not InputEntry and self._continues_step(kind):
                self._join_unit(len(self.units) - 1)
            else:
                if self._batch is not None:
                    self._close_batch(self._batch)
                self._new_unit(index)
            if kind is ToolCallEntry:
                self._add_call(entry)  # type: ignore[arg-type] # checked by its exact type
            kinds.append(kind)

    def waiting(self, pending: Collection[str]) -> set[int]:
        """Return the indices of the calls that will still be answered, wherever they stand.

        Args:
            pending: Their ids. Of several open calls with one id those of the newest batch are
                meant, as for a result: older ones died.
        """
        calls: set[int] = set()
        for call_id in pending:
            if unanswered := self._open.get(call_id):
                newest = self.unit_of[unanswered[-1]]
                calls.update(index for index in unanswered if self.unit_of[index] == newest)
        return calls

    def dead_calls(self, pending: Collection[str] = ()) -> set[int]:
        """Return the indices of calls that have no result and can no longer get one in place.

        Args:
            pending: Ids of calls that are still waiting (for an approval, a long-running tool).
        """
        return self._dead - self.waiting(pending) if pending else self._dead

    def open_units(self, pending: Collection[str] = ()) -> set[int]:
        """Return the positions of units with a call that may still be answered."""
        numbers = {self.unit_of[index] for index in self.waiting(pending)}
        if self._batch is not None and self.units[self._batch].unanswered:
            numbers.add(self._batch)
        return numbers

    def is_legal_cut(self, position: int) -> bool:
        """Tell whether the transcript may be cut before ``position`` without splitting a unit."""
        if position <= 0 or position >= len(self.partner):
            return True
        return self.unit_of[position - 1] != self.unit_of[position]

    def cut_at_or_before(self, position: int, *, floor: int = 0) -> int:
        """Return the last legal cut at or before ``position``, but not before ``floor``."""
        position = min(position, len(self.partner))
        while position > floor and not self.is_legal_cut(position):
            position -= 1
        return max(position, floor)

    def _continues_step(self, kind: type) -> bool:
        """Tell whether an assistant entry belongs to the step of the entry before it."""
        if not self._kinds:
            return False
        previous = self._kinds[-1]
        if previous in (InputEntry, ToolResultEntry):
            return False
        if previous is AssistantTextEntry:
            return kind is ToolCallEntry and self._reach_back_to_reasoning()
        return True

    def _reach_back_to_reasoning(self) -> bool:
        """Join the texts between a thought and the call it led to into one unit.

        Returns:
            Whether there was such a thought.
        """
        position = len(self._kinds) - 1
        while position >= 0 and self._kinds[position] is AssistantTextEntry:
            position -= 1
        if position < 0 or self._kinds[position] not in (ReasoningEntry, ToolCallEntry):
            return False
        target = self.unit_of[position]
        for index in range(position + 1, len(self._kinds)):
            self.unit_of[index] = target
        del self.units[target + 1 :]
        unit = self.units[target]
        unit.stop = len(self._kinds)
        unit.closed = False
        self._revive(unit.unanswered)
        return True

    def _new_unit(self, index: int) -> None:
        self.unit_of.append(len(self.units))
        self.units.append(Unit(index, index + 1))

    def _join_unit(self, number: int) -> None:
        self.unit_of.append(number)
        self.units[number].stop = len(self.partner)

    def _add_call(self, entry: ToolCallEntry) -> None:
        index = len(self.partner) - 1
        self._batch = self.unit_of[index]
        self.units[self._batch].unanswered += (index,)
        self._open.setdefault(entry.call_id, []).append(index)

    def _add_result(self, entry: ToolResultEntry) -> None:
        index = len(self.partner) - 1
        call = self._take_open_call(entry.call_id)
        if call is None:
            self.orphans.append(index)
            self.upsets += 1
            self._new_unit(index)
            return
        number = self.unit_of[call]
        unit = self.units[number]
        self.partner[index], self.partner[call] = call, index
        unit.unanswered = tuple(index for index in unit.unanswered if index != call)
        self._revive([call])
        if unit.stop == index:
            self._join_unit(number)
        else:
            self.unit_of.append(number)
            unit.late += (index,)

    def _take_open_call(self, call_id: str) -> int | None:
        """Take the call that a result answers: the earliest open one of the newest batch."""
        waiting = self._open.get(call_id)
        if not waiting:
            return None
        newest = self.unit_of[waiting[-1]]
        position = next(k for k, call in enumerate(waiting) if self.unit_of[call] == newest)
        call = waiting.pop(position)
        if not waiting:
            del self._open[call_id]
        return call

    def _close_batch(self, number: int) -> None:
        unit = self.units[number]
        unit.closed = True
        self._dead.update(unit.unanswered)
        self.upsets += bool(unit.unanswered)
        self._batch = None

    def _revive(self, calls: Iterable[int]) -> None:
        """Take calls off the dead ones, if they are among them."""
        dead = self._dead.intersection(calls)
        self._dead -= dead
        self.upsets += bool(dead)


def pair(entries: Iterable[TranscriptEntry]) -> Pairing:
    """Return the structure of a list of entries."""
    return Pairing(entries)


def legal_cuts(entries: Sequence[TranscriptEntry]) -> list[int]:
    """Return all positions, 0 and the length included, at which the list may be cut.

    No cut lies inside a batch of calls and results, between a thought and what it led to, or
    between a call and its late result.
    """
    pairing = Pairing(entries)
    fenced: set[int] = set()
    for unit in pairing.units:
        if unit.late:
            fenced.update(range(unit.start + 1, unit.late[-1] + 1))
    positions = range(len(entries) + 1)
    return [k for k in positions if k not in fenced and pairing.is_legal_cut(k)]


def leading_block(entries: Sequence[TranscriptEntry]) -> int:
    """Return the length of the leading run of system and developer entries."""
    count = 0
    for entry in entries:
        if not is_system(entry):
            break
        count += 1
    return count


def newest_user(entries: Sequence[TranscriptEntry]) -> int | None:
    """Return the index of the newest message that a user really wrote, or ``None``."""
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        if type(entry) is InputEntry and entry.role == "user" and entry.origin == "conversation":
            return index
    return None
