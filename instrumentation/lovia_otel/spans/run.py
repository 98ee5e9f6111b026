"""A run of an agent, and its turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opentelemetry.context import Context, create_key, get_value
from opentelemetry.trace import Link, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from lovia_otel import names, recorded
from lovia_otel.facts import clean_text
from lovia_otel.guard import guarded
from lovia_otel.spans._charging import Till
from lovia_otel.spans._scope import Scope, settles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_HEADER = "traceparent"
_RUN = create_key("lovia-run")
_propagator = TraceContextTextMapPropagator()


@dataclass(kw_only=True, eq=False)
class RunScope(Scope):
    """One run of an agent: ``invoke_agent {agent}``.

    ``session_id`` is a real session's id or ``None``. ``resumed_from`` is the W3C ``traceparent``
    that :meth:`traceparent` gave when the run was saved; it becomes a link, since the saved trace
    may be days old.
    """

    agent: str
    run_id: str | None
    session_id: str | None
    resumed: bool = False
    resumed_from: str | None = None

    _outcome_key = names.RUN_OUTCOME

    def __post_init__(self) -> None:
        self._till = Till()

    def charge(self, purpose: str, amount: float, currency: str) -> None:
        """Add what a model call of this run cost."""
        self._till.add(purpose, amount, currency)

    @settles
    def settle(  # noqa: PLR0913 - one keyword a fact
        self,
        *,
        outcome: str | None = None,
        turns: int | None = None,
        compactions: int | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        summary_input_tokens: int | None = None,
        summary_output_tokens: int | None = None,
        resumed: bool | None = None,
        error_type: str | None = None,
    ) -> None:
        """Hand over how the run ended. Tokens are those of turns; summaries are counted apart."""
        self._note(
            {
                names.RUN_RESUMED: resumed,
                names.RUN_OUTCOME: outcome,
                names.RUN_TURNS: turns,
                names.RUN_COMPACTIONS: compactions,
                names.USAGE_INPUT_TOKENS: input_tokens,
                names.USAGE_OUTPUT_TOKENS: output_tokens,
                names.RUN_SUMMARY_INPUT_TOKENS: summary_input_tokens,
                names.RUN_SUMMARY_OUTPUT_TOKENS: summary_output_tokens,
                names.ERROR_TYPE: error_type,
            }
        )

    def traceparent(self) -> str | None:
        """Return this span's W3C ``traceparent``, to be saved with the run; ``None``: no span."""
        carrier: dict[str, str] = {}
        self._inject(carrier)
        return carrier.get(_HEADER)

    def _name(self) -> str:
        return f"{names.SPAN_RUN} {clean_text(self.agent)}".rstrip()

    def _start(self) -> Mapping[str, object]:
        return {
            names.OPERATION_NAME: names.OPERATION_RUN,
            names.AGENT_NAME: self.agent,
            names.CONVERSATION_ID: self.session_id,
            names.RUN_ID: self.run_id,
            names.RUN_RESUMED: self.resumed,
        }

    def _links(self) -> Sequence[Link]:
        if self.resumed_from is None:
            return ()
        saved = _propagator.extract({_HEADER: self.resumed_from}, context=Context())
        context = get_current_span(saved).get_span_context()
        if not context.is_valid:
            return ()
        return (Link(context, {names.LINK_TYPE: names.LINK_RESUMED_FROM}),)

    def _context_key(self) -> str:
        return _RUN

    def _opened(self) -> None:
        if self.run_id is not None:
            recorded.runs.add(self.run_id)
        self._record(names.METRIC_RUNS_ACTIVE, 1)

    def _measure(self, seconds: float) -> None:
        self._note(self._till.facts())
        self._record(names.METRIC_RUNS_ACTIVE, -1)
        self._record(names.METRIC_RUN_DURATION, seconds)

    @guarded
    def _inject(self, carrier: dict[str, str]) -> None:
        if self._context is not None:
            _propagator.inject(carrier, context=self._context)


@dataclass(kw_only=True, eq=False)
class TurnScope(Scope):
    """One turn of a run: ``agent_turn``, a model call and the tool calls that follow from it."""

    index: int

    @settles
    def settle(self, *, tool_calls: int | None = None) -> None:
        """Hand over how many tool calls the model made."""
        self._note({names.TURN_TOOL_CALLS: tool_calls})

    def _name(self) -> str:
        return names.SPAN_TURN

    def _start(self) -> Mapping[str, object]:
        return {names.TURN_INDEX: self.index}


def current_run() -> RunScope | None:
    """Return the innermost run that has a scope here."""
    run = get_value(_RUN)
    return run if isinstance(run, RunScope) else None


# The call reads as what it opens; the class is for annotations.
run_scope = RunScope
turn_scope = TurnScope
