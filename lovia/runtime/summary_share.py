"""The summaries' share of a usage total, also for policies that report without saying so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from lovia.usage import COUNTERS, Usage

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["SummaryShare"]


class SummaryShare:
    """Books everything that is added to a usage inside the block as spent by summaries.

    A policy that calls ``usage.add_summary`` has done so itself; for one that only knows
    ``usage.add`` the difference is made up, also when the block ends with an exception.
    """

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._before = Usage()

    def __enter__(self) -> Self:
        self._before = self._usage.clone()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        now, before = self._usage, self._before
        missing = Usage()
        for name in COUNTERS:
            spent = getattr(now, name) - getattr(before, name)
            booked = getattr(now.summary, name) - getattr(before.summary, name)
            setattr(missing, name, max(spent - booked, 0))
        now.book_as_summary(missing)
