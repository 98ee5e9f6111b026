"""The replay: a recorded transcript through a policy, call by call, as it grew.

No model is asked anything. Before each answer of the recording the entries so far go to the policy,
as they did to the provider back then; its memory goes from call to call. A request that stays
larger than the window is refused as a provider would refuse it, and the policy gets its chance to
react. Every view is checked, and so is that the transcript was left alone.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import anyio.lowlevel
import anyio.to_thread

from lovia.context.policy import PolicyContext
from lovia.errors import ContextOverflowError, LoviaError, ProviderError
from lovia.replay.checking import ViewChecker
from lovia.replay.estimate import UsagePoint, compare_usage
from lovia.replay.recorder import Ruler, TurnRecorder
from lovia.replay.result import ReplayResult, ReplayTotals, ReplayTurn
from lovia.runtime.policies import as_policy, max_reactive_retries
from lovia.tokens.estimators import default_counter
from lovia.transcript.codec import entries_to_json
from lovia.transcript.entries import AssistantTextEntry, ReasoningEntry, ToolCallEntry
from lovia.usage import Usage
from lovia_otel import ChatSizes, chat_scope, run_scope, turn_scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from lovia.context.policy import ContextPolicy
    from lovia.replay.estimate import UsageComparison
    from lovia.replay.session import RecordedCount, RecordedSession
    from lovia.tokens.counter import TokenCounter
    from lovia.transcript.deltas import ModelDelta
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["RecordedModel", "model_calls", "replay", "transcript_digest"]

_BY_MODEL = (AssistantTextEntry, ReasoningEntry, ToolCallEntry)


class RecordedModel:
    """Stands for the model of a recording: it has a window, and says nothing new.

    Args:
        window: The window in tokens, or ``None``.
    """

    name = "recording"
    model: str | None = None

    def __init__(self, window: int | None = None) -> None:
        self._window = window

    def context_window(self) -> int | None:
        """Return the window in tokens."""
        return self._window

    def stream(self, entries: list[TranscriptEntry], **_: Any) -> AsyncIterator[ModelDelta]:
        """Refuse: a recording has no new answers."""
        message = "A recording cannot answer a new request."
        hint = "Give the summarizer a provider of its own, or use the extractive one."
        raise ProviderError(message, hint=hint, vendor=self.name)


def model_calls(entries: Sequence[TranscriptEntry]) -> list[int]:
    """Return the positions at which the model was called: before each of its turns.

    A turn is a run of entries that the model wrote. An answer at the very start has no request that
    could be replayed. What a recording ends with and the model never answered was never sent, as
    far as the recording tells; only where there is no other call, the one that was about to be made
    counts.
    """
    calls = [
        position
        for position in range(1, len(entries))
        if isinstance(entries[position], _BY_MODEL)
        and not isinstance(entries[position - 1], _BY_MODEL)
    ]
    if not calls and entries and not isinstance(entries[-1], _BY_MODEL):
        calls.append(len(entries))
    return calls


def transcript_digest(entries: Sequence[TranscriptEntry]) -> str:
    """Return the SHA-256 of a transcript's saved form, computed from its content each time."""
    form = json.dumps(entries_to_json(list(entries)), sort_keys=True)
    return hashlib.sha256(form.encode()).hexdigest()


async def replay(
    session: RecordedSession,
    policy: ContextPolicy,
    *,
    window: int | None = None,
    label: str | None = None,
    feed_usage: bool = False,
    counter: TokenCounter | None = None,
    on_turn: Callable[[ReplayTurn, int], None] | None = None,
) -> ReplayResult:
    """Send a recorded transcript through a policy, call by call.

    Args:
        session: The transcript, its name, and what its own provider counted. The name is the
            session id that the policy sees.
        policy: The policy. A call's time is what it takes, nothing else.
        window: The model's window in tokens; ``None`` simulates no refusals and has no savings.
        label: The policy and its settings, for people.
        feed_usage: Hand recorded counts to the policy as a provider would, for those calls whose
            request is the recorded one: nothing compacted, neither here nor there.
        counter: Measures for policies that state no sizes; also makes the estimate that recorded
            counts are compared with.
        on_turn: Told of each finished call and of how many there are.

    Returns:
        The sizes and passes of every call. Calls that overflow are marked, and the replay goes on.

    Raises:
        InvalidViewError: The policy made a view that a provider would refuse.
        LoviaError: The policy changed the transcript.
    """
    digest = await anyio.to_thread.run_sync(transcript_digest, session.entries)
    run = _Replay(session, as_policy(policy), window, feed_usage, counter or default_counter())
    turns = await run.all_turns(on_turn)
    if await anyio.to_thread.run_sync(transcript_digest, run.transcript) != digest:
        message = f"The policy changed the transcript of {session.name}."
        hint = "A policy returns a new list and leaves its input alone."
        raise LoviaError(message, hint=hint)
    return ReplayResult(
        name=session.name,
        policy=label or type(policy).__name__,
        window=window,
        turns=tuple(turns),
        digest=digest,
        estimate=run.comparison(),
    )


class _Replay:
    """One way of one recording through one policy."""

    def __init__(
        self,
        session: RecordedSession,
        policy: ContextPolicy,
        window: int | None,
        feed_usage: bool,  # noqa: FBT001 - internal
        counter: TokenCounter,
    ) -> None:
        self._session = session
        self._policy = policy
        self._window = window
        self._feed_usage = feed_usage
        self._ruler = Ruler(counter, window=window)
        self._model = RecordedModel(window)
        self._checker = ViewChecker()
        self._state: dict[str, Any] = {}
        self._usage = Usage()
        self._points: list[UsagePoint] = []
        self.transcript: list[TranscriptEntry] = []  # the very list that the policy works with
        self._last_count: int | None = None

    async def all_turns(
        self, on_turn: Callable[[ReplayTurn, int], None] | None
    ) -> list[ReplayTurn]:
        """Replay every call; the transcript grows in place, as in a live run."""
        entries = self._session.entries
        calls = model_calls(entries)
        transcript, turns = self.transcript, list[ReplayTurn]()
        with run_scope(agent=self._model.name, run_id=None, session_id=self._session.name) as run:
            for index, position in enumerate(calls, 1):
                transcript.extend(entries[len(transcript) : position])
                turns.append(await self._one_turn(index, transcript))
                if on_turn is not None:
                    on_turn(turns[-1], len(calls))
                await anyio.lowlevel.checkpoint()
            transcript.extend(entries[len(transcript) :])
            totals = ReplayTotals.of(tuple(turns))
            run.settle(
                turns=totals.turns,
                compactions=totals.passes,
                summary_input_tokens=totals.summary_input_tokens,
                summary_output_tokens=totals.summary_output_tokens,
            )
        return turns

    def comparison(self) -> UsageComparison | None:
        """Compare the estimates with the recorded counts, when there are any."""
        counts = self._session.counts
        if counts is None:
            return None
        return compare_usage(self._points, unmatched=len(counts) - len(self._points))

    async def _one_turn(self, index: int, transcript: list[TranscriptEntry]) -> ReplayTurn:
        recorder = TurnRecorder(transcript, self._ruler)
        count = self._session.count_at(len(transcript))
        ctx = self._context()
        with turn_scope(index=index):
            await recorder.watch(self._policy, self._policy.apply(transcript, ctx=ctx))
            await self._react(recorder, transcript, ctx)
            self._checker.check(recorder.view, transcript)
            overflow = self._refuses(recorder)
            turn = recorder.turn(index, overflow=overflow, recorded=count.tokens if count else None)
            if not overflow:
                self._trace_call(recorder)
        if count is not None:
            estimated = self._ruler.history(transcript)
            self._points.append(UsagePoint(index, count.message, estimated, count.tokens))
        self._last_count = self._reported(turn, count)
        return turn

    async def _react(
        self, recorder: TurnRecorder, transcript: list[TranscriptEntry], ctx: PolicyContext
    ) -> None:
        """Refuse a request that is larger than the window, and let the policy shrink it.

        As in a live run the policy is asked again only while that helps, and only so often.
        """
        react = getattr(self._policy, "apply_reactive", None)
        attempts = max_reactive_retries(self._policy)
        while self._refuses(recorder):
            error = ContextOverflowError(reported_window=self._window, vendor=self._model.name)
            self._trace_call(recorder, error)
            if attempts <= 0 or react is None:
                return
            attempts, before = attempts - 1, recorder.request
            try:
                await recorder.watch(
                    self._policy, react(transcript, ctx=ctx, error=error), reactive=True
                )
            except ContextOverflowError:
                return
            if recorder.request >= before:
                return

    def _refuses(self, recorder: TurnRecorder) -> bool:
        return self._window is not None and recorder.request > self._window

    def _context(self) -> PolicyContext:
        return PolicyContext(
            provider=self._model,
            last_input_tokens=self._last_count,
            session_id=self._session.name,
            run_id="replay",
            agent=self._model.name,
            state=self._state,
            usage=self._usage,
        )

    def _reported(self, turn: ReplayTurn, count: RecordedCount | None) -> int | None:
        """Return what the provider would have said; it is known for unchanged requests only."""
        if not self._feed_usage or count is None or turn.view != "original":
            return None
        return None if count.compacted else count.tokens

    def _trace_call(self, recorder: TurnRecorder, error: Exception | None = None) -> None:
        sizes = recorder.sizes
        scope = chat_scope(
            provider=self._model.name,
            model=self._model.model,
            purpose="turn",
            agent=self._model.name,
            session_id=self._session.name,
            sizes=ChatSizes(
                history=sizes.history,
                request=sizes.request_after,
                window=sizes.window,
                saved=sizes.saved,
                source=sizes.source,
            ),
            view=recorder.kind,
            compacted=recorder.kind != "original",
        ).open()
        scope.close(error)
