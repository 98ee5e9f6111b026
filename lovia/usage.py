"""What model calls spent, and how much a run may spend.

``Usage`` counts tokens as providers report them. It answers *cost* questions; questions about the
context window are answered by prompt sizes (:mod:`lovia.context.policy`), never by these totals.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

from lovia.errors import BudgetExceeded

__all__ = ["COUNTERS", "RunBudget", "Usage"]

#: The names of the counters, in the order in which they are shown.
COUNTERS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


@dataclass
class Usage:
    """Tokens spent by one or more model calls.

    ``input_tokens`` is the whole prompt, cached tokens included; the cache fields are parts of it
    and are never added again. ``reasoning_tokens`` is a part of ``output_tokens``. ``summary`` is
    the part of this total that context compaction's own model calls spent (``None`` until there was
    one), so ``usage.input_tokens - usage.summary.input_tokens`` is what the turns spent.

    Attributes:
        input_tokens: Prompt tokens.
        output_tokens: Generated tokens.
        cache_read_tokens: Prompt tokens served from the provider's cache.
        cache_write_tokens: Prompt tokens written to the provider's cache.
        reasoning_tokens: Generated tokens that were reasoning.
        summary: The summaries' share.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    _summary: Usage | None = field(default=None, repr=False)
    _outer: Usage | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def total_tokens(self) -> int:
        """Prompt plus generated tokens."""
        return self.input_tokens + self.output_tokens

    @property
    def summary(self) -> Usage:
        """The part of this total that summaries spent (zeros when there was none)."""
        if self._summary is None:
            self._summary = Usage()
        return self._summary

    def add(self, other: Usage) -> None:
        """Add ``other`` in place, its summary share included."""
        self._add_counters(other)
        if other._summary is not None:
            self.summary._add_counters(other._summary)  # noqa: SLF001 - the accessor of that field
        if self._outer is not None:
            self._outer.add(other)

    def add_summary(self, other: Usage) -> None:
        """Add what a summary call spent: to the total, and to the summary share."""
        self._add_counters(other)
        self.summary._add_counters(other)  # noqa: SLF001 - the accessor of that field
        if self._outer is not None:
            self._outer.add_summary(other)

    def book_as_summary(self, part: Usage) -> None:
        """Add to the summary share what is in the total already."""
        self.summary._add_counters(part)  # noqa: SLF001 - the accessor of that field
        if self._outer is not None:
            self._outer.book_as_summary(part)

    def count_in(self, outer: Usage) -> None:
        """From now on, add to another usage as well whatever is added here."""
        self._outer = outer

    def subtract(self, other: Usage) -> None:
        """Take ``other`` off in place: what was spent since ``other`` was cloned."""
        for name in COUNTERS:
            setattr(self, name, getattr(self, name) - getattr(other, name))
        if other._summary is not None:
            self.summary.subtract(other._summary)

    def clone(self) -> Usage:
        """Return an independent copy."""
        copy = Usage()
        copy.add(self)
        return copy

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-safe form; zero fields are left out."""
        data: dict[str, Any] = {name: value for name in COUNTERS if (value := getattr(self, name))}
        if self._summary is not None and (summary := self._summary.to_dict()):
            data["summary"] = summary
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Usage:
        """Rebuild a usage from :meth:`to_dict`; unknown fields are ignored."""
        usage = cls()
        for name in COUNTERS:
            setattr(usage, name, int(data.get(name, 0)))
        if "summary" in data:
            usage._summary = cls.from_dict(data["summary"])
        return usage

    def _add_counters(self, other: Usage) -> None:
        for name in COUNTERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass
class RunBudget:
    """Hard limits of one run; ``None`` means no limit.

    The budget is checked between model calls, between the folds of a summary and before each tool
    call. One instance belongs to one run: it holds that run's clock and tool-call count.

    Attributes:
        max_input_tokens: Prompt tokens over all model calls.
        max_output_tokens: Generated tokens over all model calls.
        max_total_tokens: Their sum.
        max_tool_calls: Tool calls that the model requested, refused ones included.
        max_seconds: Wall-clock seconds since the first check.
    """

    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    max_total_tokens: int | None = None
    max_tool_calls: int | None = None
    max_seconds: float | None = None
    tool_calls: int = field(default=0, compare=False)
    _started: float | None = field(default=None, repr=False, compare=False)
    _outer: tuple[RunBudget, Usage] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the first check; 0 before it."""
        return 0.0 if self._started is None else time.monotonic() - self._started

    def record_tool_call(self) -> None:
        """Count one requested tool call."""
        self.tool_calls += 1

    def go_on(self, *, tool_calls: int, seconds: float) -> None:
        """Go on from what an interrupted run had used, which is not the time it lay idle."""
        self.tool_calls = tool_calls
        self._started = time.monotonic() - seconds

    @classmethod
    def of_inner_run(
        cls, own: RunBudget | None, outer: RunBudget | None, spent: Usage
    ) -> RunBudget | None:
        """Return the budget of a run inside another one, which keeps to the limits of both.

        Args:
            own: Its own limits, counted anew.
            outer: The limits of the run around it.
            spent: What that one has spent; the inner run's usage has to count in it.
        """
        if own is None and outer is None:
            return None
        budget = replace(own or cls(), tool_calls=0, _started=None)
        budget._outer = None if outer is None else (outer, spent)  # noqa: SLF001 - of this class
        return budget

    def check(self, usage: Usage) -> None:
        """Raise :class:`~lovia.errors.BudgetExceeded` when a limit is spent."""
        if self._outer is not None:
            outer, all_of_it = self._outer
            outer.check(all_of_it)
        if self._started is None:
            self._started = time.monotonic()
        spent: tuple[tuple[str, float, float | None], ...] = (
            ("max_input_tokens", usage.input_tokens, self.max_input_tokens),
            ("max_output_tokens", usage.output_tokens, self.max_output_tokens),
            ("max_total_tokens", usage.total_tokens, self.max_total_tokens),
            ("max_tool_calls", self.tool_calls, self.max_tool_calls),
            ("max_seconds", self.elapsed_seconds, self.max_seconds),
        )
        for name, value, limit in spent:
            if limit is not None and value > limit:
                message = f"The run's budget is spent: {name}={limit}, used {value:g}."
                raise BudgetExceeded(
                    message, limit=name, hint="Resume the run with a raised limit."
                )
