"""A run of the 0.9 line: its scopes, and the context in which its steps are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context as otel_context

from lovia_otel import logs, names
from lovia_otel.counters import record_cancellation, record_handoff
from lovia_otel.failure import failure_of
from lovia_otel.guard import guarded
from lovia_otel.spans import ChatSizes, RunScope, TurnScope, run_scope, turn_scope

if TYPE_CHECKING:
    from opentelemetry.context import Context

_RUN: Final = otel_context.create_key("lovia09-run")

# A limit that the caller set is no failure of the run.
_LIMITS: Final = frozenset({"MaxTurnsExceeded", "BudgetExceeded"})


@dataclass
class _Speaker:
    """An agent that speaks in a run, from a handoff to it until it hands over or the run ends."""

    scope: RunScope
    around: Context  # what was current outside of its scope
    turns: int = 0
    compactions: int = 0
    spent: dict[str, list[int]] = field(
        default_factory=lambda: {names.PURPOSE_TURN: [0, 0], names.PURPOSE_SUMMARIZE: [0, 0]}
    )


@dataclass(eq=False)
class Run:
    """What is known of a run while it is under way.

    ``sizes`` and ``view`` are those of the view that the policy made for the next model call.
    """

    session_id: str | None
    run_id: str | None = None
    sizes: ChatSizes | None = None
    view: str | None = None
    window: int | None = None
    _speakers: list[_Speaker] = field(default_factory=list)
    _turn: TurnScope | None = None
    _outside: Context | None = None  # what was current outside of the turn

    @property
    def agent(self) -> str | None:
        """The name of the agent that speaks."""
        return self._speakers[-1].scope.agent if self._speakers else None

    # --- the run as a whole ---

    def begin(self, agent: str, run_id: str | None) -> None:
        """Open the scope of the run and make it current."""
        self.run_id = run_id
        otel_context.attach(otel_context.set_value(_RUN, self))
        self._speak(agent)

    @guarded
    def resumed(self) -> None:
        """Note that the run continues a saved one."""
        if self._speakers:
            self._speakers[0].scope.settle(resumed=True)
            logs.run_resumed(actor=self.actor())

    def end(self, error: BaseException | None) -> None:
        """Close what is open, the innermost first, with what ended the run."""
        self._tell_cancelled(error)
        self.end_turn(error)
        while self._speakers:
            self._fall_silent(error)

    # --- turns and handoffs ---

    @guarded
    def begin_turn(self, index: int) -> None:
        """Open the scope of a turn and make it current."""
        self.end_turn(None)
        for speaker in self._speakers:
            speaker.turns += 1
        self._outside = otel_context.get_current()
        self._turn = turn_scope(index=index).open()
        _enter(self._turn)

    @guarded
    def end_turn(self, error: BaseException | None) -> None:
        """Close the scope of the turn, if one is open."""
        if self._turn is not None:
            self._turn.close(error)
            self._turn = None
            if self._outside is not None:
                otel_context.attach(self._outside)

    @guarded
    def hand_over(self, source: str, target: str) -> None:
        """Tell of a handoff and open the target's scope, which lasts until it hands over itself."""
        self.end_turn(None)
        if len(self._speakers) > 1:
            self._fall_silent(None)
        record_handoff(source, target)
        logs.agent_handoff(source=source, target=target, pending=False, actor=self.actor())
        self._speak(target)

    # --- what calls and passes cost ---

    def spend(self, purpose: str, input_tokens: int, output_tokens: int) -> None:
        """Add what a model call spent."""
        for speaker in self._speakers:
            spent = speaker.spent[purpose]
            spent[0] += input_tokens
            spent[1] += output_tokens

    def compacted(self) -> None:
        """Count a pass that changed the view."""
        for speaker in self._speakers:
            speaker.compactions += 1

    # --- steps ---

    def _speak(self, agent: str) -> None:
        around = otel_context.get_current()
        scope = run_scope(agent=agent, run_id=self.run_id, session_id=self.session_id).open()
        self._speakers.append(_Speaker(scope, around))
        _enter(scope)

    @guarded
    def _fall_silent(self, error: BaseException | None) -> None:
        speaker = self._speakers.pop()
        turns, summaries = (speaker.spent[purpose] for purpose in names.INFERENCE_PURPOSES)
        speaker.scope.settle(
            outcome=_outcome(error),
            turns=speaker.turns,
            compactions=speaker.compactions,
            input_tokens=turns[0],
            output_tokens=turns[1],
            summary_input_tokens=summaries[0],
            summary_output_tokens=summaries[1],
        )
        speaker.scope.close(error)
        otel_context.attach(speaker.around)

    @guarded
    def _tell_cancelled(self, error: BaseException | None) -> None:
        failure = failure_of(error)
        if failure is not None and failure.cancelled:
            reason = str(failure.reason or names.REASON_PARENT)
            record_cancellation(reason)
            logs.run_cancelled(reason=reason, actor=self.actor())

    def actor(self) -> logs.Actor:
        """Return whom a log event of this run is about."""
        return logs.Actor(agent=self.agent, run_id=self.run_id, session_id=self.session_id)


def current() -> Run | None:
    """Return the run that is under way here."""
    found = otel_context.get_value(_RUN)
    return found if isinstance(found, Run) else None


def _enter(scope: RunScope | TurnScope) -> None:
    """Make a scope current for good: the steps of a run restore what was current before."""
    with scope.active():
        inside = otel_context.get_current()
    otel_context.attach(inside)


def _outcome(error: BaseException | None) -> str | None:
    if error is None:
        return names.COMPLETED
    if type(error).__name__ in _LIMITS:
        return names.LIMIT_REACHED
    return names.CANCELLED if isinstance(error, GeneratorExit) else None  # else: by the error


class Steps:
    """The events of a run, as the run yields them, each step made in the run's own context.

    The steps of an async generator run in the context of whoever asks for the next event. What is
    current inside the run is kept between the steps and is never seen outside of them.
    """

    def __init__(self, events: Any, run: Run) -> None:
        self._events = events
        self._run = run
        self._inside: Context | None = None

    def __aiter__(self) -> Steps:
        return self

    async def __anext__(self) -> Any:
        event = await self._step(self._events.__anext__)
        self._hear(event)
        return event

    async def aclose(self) -> None:
        """Close the run's own events, in its context."""
        close = getattr(self._events, "aclose", None)
        if close is not None:
            await self._step(close)

    async def _step(self, step: Any) -> Any:
        outside = otel_context.get_current()
        otel_context.attach(self._inside or outside)
        try:
            return await step()
        finally:
            self._inside = otel_context.get_current()
            otel_context.attach(outside)

    @guarded
    def _hear(self, event: Any) -> None:
        """Open and close turns, which only the events tell of."""
        kind = type(event).__name__
        if kind not in {"TurnStarted", "TurnEnded"}:
            return
        outside = otel_context.get_current()
        otel_context.attach(self._inside or outside)
        try:
            if kind == "TurnStarted":
                self._run.begin_turn(event.turn)
            else:
                self._run.end_turn(None)
        finally:
            self._inside = otel_context.get_current()
            otel_context.attach(outside)
