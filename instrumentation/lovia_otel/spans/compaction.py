"""A compaction pass: its span, its metrics, and the events that tell of its begin and end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opentelemetry.context import Context, create_key, get_value, set_value

from lovia_otel import logs, names, recorded
from lovia_otel.spans._charging import Till
from lovia_otel.spans._scope import Scope, settles
from lovia_otel.spans.run import current_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PASS = create_key("lovia-pass")


@dataclass(kw_only=True, eq=False)
class PassScope(Scope):
    """One pass of a context policy: ``compact_context``.

    ``trigger`` is why it runs (``threshold``, ``entries``, ``batch``, ``overflow``, ``manual``).
    Tokens and entries *before* are those of the request as it would be sent without this pass;
    ``history_tokens`` is the whole transcript. ``tokens_source`` says who counted: ``provider``,
    ``tokenizer`` or ``bytes``.
    """

    policy: str
    trigger: str
    pass_id: str
    agent: str | None = None
    session_id: str | None = None
    model: str | None = None
    provider: str | None = None
    tokens_before: int | None = None
    entries_before: int | None = None
    tokens_target: int | None = None
    window_tokens: int | None = None
    history_tokens: int | None = None
    tokens_source: str | None = None

    _outcome_key = names.COMPACTION_OUTCOME
    _has_event = True

    def __post_init__(self) -> None:
        self._till = Till()
        self._ran: list[tuple[str, str]] = []

    def charge(self, purpose: str, amount: float, currency: str) -> None:
        """Add what a summary's model call cost."""
        if purpose == names.PURPOSE_SUMMARIZE:
            self._till.add(purpose, amount, currency)

    @settles
    def settle(  # noqa: PLR0913 - one keyword a fact
        self,
        *,
        outcome: str | None = None,
        reason: str | None = None,
        tokens_after: int | None = None,
        entries_after: int | None = None,
        tokens_freed: int | None = None,
        stages: Sequence[str] | None = None,
        chunks: int | None = None,
        chunks_folded: int | None = None,
        summary_calls: int | None = None,
        summary_input_tokens: int | None = None,
        summary_output_tokens: int | None = None,
        identifiers_kept: int | None = None,
        identifiers_total: int | None = None,
        checkpoints: int | None = None,
        error_type: str | None = None,
    ) -> None:
        """Hand over what the pass did and spent.

        ``stages`` are the names of those that ran, in order; ``checkpoints`` is how many
        cancellation checkpoints were passed.
        """
        self._note(
            {
                names.COMPACTION_OUTCOME: outcome,
                names.COMPACTION_REASON: reason,
                names.COMPACTION_TOKENS_AFTER: tokens_after,
                names.COMPACTION_ENTRIES_AFTER: entries_after,
                names.COMPACTION_TOKENS_FREED: tokens_freed,
                names.COMPACTION_STAGES: stages,
                names.COMPACTION_CHUNKS: chunks,
                names.COMPACTION_CHUNKS_FOLDED: chunks_folded,
                names.COMPACTION_SUMMARY_CALLS: summary_calls,
                names.COMPACTION_SUMMARY_INPUT_TOKENS: summary_input_tokens,
                names.COMPACTION_SUMMARY_OUTPUT_TOKENS: summary_output_tokens,
                names.COMPACTION_IDENTIFIERS_KEPT: identifiers_kept,
                names.COMPACTION_IDENTIFIERS_TOTAL: identifiers_total,
                names.CANCELLATION_CHECKPOINTS: checkpoints,
                names.ERROR_TYPE: error_type,
            }
        )

    @settles
    def resize(
        self,
        *,
        tokens_before: int | None,
        tokens_source: str | None,
        history_tokens: int | None = None,
    ) -> None:
        """Correct the sizes before, where only the policy's own result tells them."""
        self.tokens_before = tokens_before
        self._note(
            {
                names.COMPACTION_TOKENS_BEFORE: tokens_before,
                names.TOKENS_SOURCE: tokens_source,
                names.CONTEXT_HISTORY_TOKENS: history_tokens,
            }
        )

    def stage_ended(self, stage: str, outcome: str) -> None:
        """Note how a stage of this pass ended."""
        self._ran.append((stage, outcome))

    def _name(self) -> str:
        return names.SPAN_PASS

    def _context_key(self) -> str:
        return _PASS

    def _start(self) -> Mapping[str, object]:
        return {
            names.OPERATION_NAME: names.OPERATION_PASS,
            names.AGENT_NAME: self.agent,
            names.CONVERSATION_ID: self.session_id,
            names.REQUEST_MODEL: self.model,
            names.PROVIDER_NAME: self.provider,
            names.COMPACTION_POLICY: self.policy,
            names.COMPACTION_TRIGGER: self.trigger,
            names.COMPACTION_ID: self.pass_id,
            names.COMPACTION_TOKENS_BEFORE: self.tokens_before,
            names.COMPACTION_ENTRIES_BEFORE: self.entries_before,
            names.COMPACTION_TOKENS_TARGET: self.tokens_target,
            names.CONTEXT_WINDOW_TOKENS: self.window_tokens,
            names.CONTEXT_HISTORY_TOKENS: self.history_tokens,
            names.TOKENS_SOURCE: self.tokens_source,
        }

    def _opened(self) -> None:
        recorded.passes.add(self.pass_id)
        logs.compaction_started(
            pass_id=self.pass_id,
            policy=self.policy,
            trigger=self.trigger,
            tokens_before=self.tokens_before,
            tokens_target=self.tokens_target,
            actor=actor_of(self),
            at=logs.Moment(self._context, self._started),
        )

    def _measure(self, seconds: float) -> None:
        if self._ran:
            stages, outcomes = zip(*self._ran, strict=True)
            self._note({names.COMPACTION_STAGES: stages, names.COMPACTION_STAGE_OUTCOMES: outcomes})
        self._note(self._till.facts())
        self._measure_pass(seconds)
        logs.context_compacted(
            facts={**self._facts, **actor_of(self).facts(), **self._reactive()},
            content=self._content,
            at=logs.Moment(self._context),
        )

    def _reactive(self) -> dict[str, object]:
        return {names.COMPACTION_REACTIVE: self.trigger == names.TRIGGER_OVERFLOW}

    def _measure_pass(self, seconds: float) -> None:
        facts = self._facts
        self._record(names.METRIC_COMPACTION_DURATION, seconds)
        for key in (names.METRIC_SUMMARY_INPUT_TOKENS, names.METRIC_SUMMARY_OUTPUT_TOKENS):
            self._record(key, facts.get(key))
        self._record(names.METRIC_COMPACTION_CHUNKS, facts.get(names.COMPACTION_CHUNKS_FOLDED))
        freed, before = facts.get(names.COMPACTION_TOKENS_FREED), self.tokens_before
        useful = facts.get(names.COMPACTION_OUTCOME) in {names.COMPACTED, names.PARTIAL}
        if useful and before and isinstance(freed, int):
            self._record(names.METRIC_COMPACTION_REDUCTION, freed / before)


def current_pass() -> PassScope | None:
    """Return the innermost pass that has a scope here."""
    found = get_value(_PASS)
    return found if isinstance(found, PassScope) else None


def within_pass(scope: PassScope, context: Context) -> Context:
    """Return a context in which a pass is under way, though its span may not have begun yet."""
    return set_value(_PASS, scope, context)


def actor_of(scope: PassScope | None) -> logs.Actor:
    """Return whom the events of a pass are about: its agent, and the run that is current."""
    run = current_run()
    run_id = run.run_id if run is not None else None
    if scope is None:
        return logs.Actor(run_id=run_id)
    return logs.Actor(agent=scope.agent, run_id=run_id, session_id=scope.session_id)


pass_scope = PassScope
