"""Where a stage's input comes from: the transcript behind the view, for stages that need it.

Most stages only look at the entries they are given. Those that summarise read the transcript itself
for what no summary covers yet, and those that write markers say which transcript entries these
stand for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lovia.context.policy import PolicyContext, Pressure
from lovia.context.summarizer.breaker import Breaker
from lovia.context.view.decisions import Decisions
from lovia.context.view.ranges import Ranges
from lovia.context.view.session import SessionView
from lovia.tokens import counter_for
from lovia.transcript.entries import (
    InputEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    is_system,
)
from lovia.transcript.pairing import Unit, leading_block, newest_user

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from lovia.context.view.rendering import Rendered
    from lovia.tokens.counter import TokenCounter

__all__ = ["KEPT_TOO", "Source", "advance", "fixed_indices", "ranges_of", "stage_input"]

#: Said of a pass that had to touch results of tools that are to be kept.
KEPT_TOO = "results of kept tools included, or the request would not fit the window"

#: Later system messages stay word for word while together they fit in this share of the window.
_SYSTEM_SHARE = 0.1


@dataclass(frozen=True)
class Source:
    """The transcript behind a stage's input.

    Attributes:
        view: The conversation's view.
        given: The stage's input with the sources of its entries.
        decisions: The decisions behind the input.
        fixed: Transcript indices that stay word for word.
        new_from: Index of the first entry that no request held yet.
        breaker: State of the summarizer's circuit breaker.
    """

    view: SessionView
    given: Rendered
    decisions: Decisions
    fixed: frozenset[int]
    new_from: int = 0
    breaker: Breaker = field(default_factory=Breaker)

    @property
    def transcript(self) -> Sequence[TranscriptEntry]:
        """The whole transcript."""
        return self.view.transcript

    def tool_of(self, index: int) -> str | None:
        """Return the name of the tool that an entry calls or answers for, if it does either."""
        entry = self.transcript[index]
        if isinstance(entry, ToolResultEntry) and (call := self.view.pairing.partner[index]) >= 0:
            entry = self.transcript[call]
        return entry.name if isinstance(entry, ToolCallEntry) else None

    def keeping(self, tools: Collection[str]) -> Source:
        """Return the source with every step fixed that calls one of these tools."""
        if not tools:
            return self
        pairing = self.view.pairing
        numbers = {
            pairing.unit_of[index]
            for index, entry in enumerate(self.transcript)
            if isinstance(entry, ToolCallEntry) and entry.name in tools
        }
        kept = (index for number in numbers for index in pairing.units[number].indices())
        return replace(self, fixed=self.fixed.union(kept))

    def units(self, start: int, stop: int) -> Iterator[Unit]:
        """Yield the units that lie in a range of the transcript and may be removed.

        A unit with a late result after the range is not among them: the result may have just come.
        """
        pairing = self.view.pairing
        barred = {pairing.unit_of[index] for index in self.fixed}
        first = pairing.unit_of[start] if start < len(pairing.unit_of) else len(pairing.units)
        for number in range(first, len(pairing.units)):
            unit = pairing.units[number]
            if unit.start >= stop:
                return
            last = unit.late[-1] if unit.late else unit.stop - 1
            if unit.start >= start and last < stop and number not in barred:
                yield unit

    def tail_start(
        self, keep: int, budget: int | None, size: Callable[[TranscriptEntry], int]
    ) -> int:
        """Return the transcript index at which the protected tail begins.

        Args:
            keep: Entries of the view that the tail holds at the most.
            budget: Tokens that it holds at the most beside what stays anyway, or ``None``.
            size: Tokens of an entry.

        Returns:
            A legal cut; the newest unit is always in the tail, however large.
        """
        entries, sources = self.given.entries, self.given.sources
        tokens, tail = 0, len(self.transcript)
        for count, position in enumerate(range(len(entries) - 1, -1, -1), 1):
            if sources[position] not in self.fixed:
                tokens += size(entries[position])
            over = count > keep or (budget is not None and tokens > budget)
            if over and tail < len(self.transcript):
                break
            if sources[position] >= 0:
                tail = sources[position]
        pairing = self.view.pairing
        while not pairing.is_legal_cut(tail):
            tail += 1
        return min(tail, pairing.cut_at_or_before(max(len(self.transcript) - 1, 0)))

    def initial_stop(
        self, keep: int, budget: float | None, size: Callable[[TranscriptEntry], int]
    ) -> int:
        """Return the end of the protected beginning: leading block and first entries after it.

        Args:
            keep: Entries that it holds, the leading block included. Unless it is 0, the first
                message after that block, which states the goal, is among them.
            budget: Tokens that it holds at the most beside what stays anyway, or ``None``.
            size: Tokens of an entry.
        """
        lead = leading_block(self.transcript)
        stop = self.view.pairing.cut_at_or_before(max(lead + bool(keep), keep), floor=lead)
        while stop > lead and budget is not None:
            movable = (k for k in range(lead, stop) if k not in self.fixed)
            if sum(size(self.transcript[k]) for k in movable) <= budget:
                break
            stop = self.view.pairing.cut_at_or_before(stop - 1, floor=lead)
        return stop

    def preview(self, decisions: Decisions) -> Rendered:
        """Return the view that other decisions would give."""
        return self.view.preview(decisions)

    def decided(self, decisions: Decisions) -> Source:
        """Return the source of the view that other decisions give."""
        return replace(self, decisions=decisions, given=self.preview(decisions))


def fixed_indices(
    view: SessionView,
    *,
    window: int | None,
    size: Callable[[TranscriptEntry], int],
    pinned: Callable[[TranscriptEntry], bool] | None = None,
) -> frozenset[int]:
    """Return the transcript indices that every view shows word for word.

    These are the leading block, the newest user message, what a call that may still be answered
    stands beside (but for results that came already), whatever the user pinned with the rest of its
    unit, and later system messages, newest first, while together they fit in a tenth of the window.
    """
    entries, pairing = view.transcript, view.pairing
    fixed = set(range(leading_block(entries)))
    newest = newest_user(entries)
    if newest is not None:
        fixed.add(newest)
    for number in pairing.open_units(view.pending):
        unit = pairing.units[number].indices()
        fixed.update(index for index in unit if type(entries[index]) is not ToolResultEntry)
    fixed.update(_later_system(entries, window, size))
    if pinned is not None:
        for index, entry in enumerate(entries):
            if index not in fixed and pinned(entry):
                fixed.update(pairing.units[pairing.unit_of[index]].indices())
    return frozenset(fixed)


def stage_input(entries: list[TranscriptEntry], ctx: PolicyContext) -> tuple[Pressure, Source]:
    """Return pressure and source for a stage, also when it runs outside a pipeline.

    Outside a pipeline, or when another stage hands on entries of its own making, the entries are
    themselves the transcript.
    """
    pressure = ctx.pressure
    source = pressure.source if pressure is not None else None
    if pressure is not None and isinstance(source, Source) and source.given.entries is entries:
        return pressure, source
    counter: TokenCounter = pressure.counter if pressure else counter_for(ctx.provider, ctx.model)
    view = SessionView()
    view.sync(list(entries), counter, ctx.pending_calls)
    window = pressure.window if pressure else None
    fixed = fixed_indices(view, window=window, size=counter.entry)
    source = Source(view, view.rendered(), Decisions(), fixed)
    if pressure is None:
        request = view.view_tokens
        pressure = Pressure(None, None, None, request=request, counter=counter, engaged=True)
    return replace(pressure, source=source), source


def advance(pressure: Pressure, source: Source, decisions: Decisions) -> tuple[Pressure, Source]:
    """Return pressure and source after a step of a stage decided something."""
    after = source.decided(decisions)
    change = pressure.size(after.given.entries) - pressure.size(source.given.entries)
    return replace(pressure, request=pressure.request + change, source=after), after


def _later_system(
    entries: Sequence[TranscriptEntry], window: int | None, size: Callable[[TranscriptEntry], int]
) -> list[int]:
    """Return the later system messages that stay, newest first, within their share."""
    kept: list[int] = []
    room = None if window is None else window * _SYSTEM_SHARE
    for index in range(len(entries) - 1, leading_block(entries) - 1, -1):
        entry = entries[index]
        if type(entry) is not InputEntry or not is_system(entry):
            continue
        if room is not None:
            room -= size(entry)
            if room < 0:
                break
        kept.append(index)
    return kept


def counted(number: int, thing: str, things: str | None = None) -> str:
    """Say how many there are of something."""
    return f"{number} {thing if number == 1 else things or thing + 's'}"


def ranges_of(units: Sequence[Unit]) -> Ranges:
    """Return the transcript indices of some units."""
    spans: list[tuple[int, int]] = []
    for unit in units:
        if spans and spans[-1][1] == unit.start:
            spans[-1] = (spans[-1][0], unit.stop)
        else:
            spans.append((unit.start, unit.stop))
    return Ranges.of(spans) | Ranges.from_indices(k for unit in units for k in unit.late)
