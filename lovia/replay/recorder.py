"""Collects what a policy did for one model call, however the call is made: replayed or live."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from lovia.context.policy import ContextPolicyResult, ContextSizes
from lovia.replay.result import ReplayPass, ReplayTurn
from lovia.runtime.policies import as_result

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from lovia.context.policy import ContextPolicy, ViewKind
    from lovia.tokens.counter import TokenCounter
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["Ruler", "TurnRecorder"]

PolicyAnswer: TypeAlias = "ContextPolicyResult | list[TranscriptEntry]"


class Ruler:
    """Measures for policies that state no sizes of their own; each entry is counted once.

    Args:
        counter: Counts the tokens.
        window: The model's window in tokens, or ``None``.
        overhead: What each request holds beside its entries, in tokens.
    """

    def __init__(self, counter: TokenCounter, *, window: int | None, overhead: int = 0) -> None:
        self._counter = counter
        self._window = window
        self._overhead = overhead
        self._history = overhead
        self._measured = 0

    def history(self, transcript: Sequence[TranscriptEntry]) -> int:
        """Return the history's size; the transcript is the one of last time, grown at its end."""
        new = len(transcript) - self._measured
        if new:
            self._history += self._counter.entries(transcript[-new:])
            self._measured = len(transcript)
        return self._history

    def sizes(
        self, transcript: Sequence[TranscriptEntry], view: Sequence[TranscriptEntry]
    ) -> ContextSizes:
        """Return the sizes of a call that sends ``view``."""
        history = self.history(transcript)
        whole = view is transcript  # then nothing has to be added up again
        request = history if whole else self._overhead + self._counter.entries(view)
        return ContextSizes(
            history=history,
            request_before=request,
            request_after=request,
            window=self._window,
            source=self._counter.source,
        )


class TurnRecorder:
    """The record of one call, filled while the policy works on it.

    Args:
        transcript: The transcript before the call.
        ruler: Measures what the policy does not state.
    """

    def __init__(self, transcript: list[TranscriptEntry], ruler: Ruler) -> None:
        self._transcript = transcript
        self._ruler = ruler
        self._passes: list[ReplayPass] = []
        self._answer: ContextPolicyResult | None = None
        self._sizes: ContextSizes | None = None
        self._seconds = 0.0

    async def watch(
        self, policy: ContextPolicy, work: Awaitable[PolicyAnswer], *, reactive: bool = False
    ) -> ContextPolicyResult:
        """Await a policy's answer, time it and take it down."""
        started = time.perf_counter()
        try:
            answer = await work
        finally:
            self._seconds += time.perf_counter() - started
        result = as_result(answer, self._transcript, policy)
        if result.changed and result.view == "original":  # an older policy, which does not say
            result = replace(result, view="compacted")
        self._take_down(result, reactive=reactive)
        return result

    @property
    def view(self) -> list[TranscriptEntry]:
        """What the call would send now."""
        return self._known()[0].entries

    @property
    def kind(self) -> ViewKind:
        """Whether that is the transcript itself, freshly compacted, or a replay of decisions."""
        return "compacted" if any(done.changed for done in self._passes) else self._known()[0].view

    @property
    def sizes(self) -> ContextSizes:
        """The sizes of the call as it is now."""
        return self._known()[1]

    @property
    def request(self) -> int:
        """What the call would send now, in tokens."""
        return self.sizes.request_after

    def turn(
        self, index: int, *, overflow: bool = False, recorded: int | None = None
    ) -> ReplayTurn:
        """Return the finished record of the ``index``-th call."""
        answer, sizes = self._known()
        return ReplayTurn(
            index=index,
            entries=len(self._transcript),
            view_entries=len(answer.entries),
            history=sizes.history,
            request=sizes.request_after,
            window=sizes.window,
            view=self.kind,
            source=sizes.source,
            passes=tuple(self._passes),
            overflow=overflow,
            recorded=recorded,
            seconds=self._seconds,
        )

    def _take_down(self, result: ContextPolicyResult, *, reactive: bool) -> None:
        previous = self._sizes
        sizes = result.sizes or self._ruler.sizes(self._transcript, result.entries)
        if result.outcome is not None:
            before = sizes.request_before
            if result.sizes is None and previous is not None:
                before = previous.request_after
            self._passes.append(
                ReplayPass.of(result, reactive=reactive, before=before, after=sizes.request_after)
            )
        self._answer, self._sizes = result, sizes

    def _known(self) -> tuple[ContextPolicyResult, ContextSizes]:
        if self._answer is None or self._sizes is None:
            raise RuntimeError("the policy has not answered yet")
        return self._answer, self._sizes
