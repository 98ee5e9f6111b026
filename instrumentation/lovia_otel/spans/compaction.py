"""A compaction pass, its stages, and the folds of a summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lovia_otel import names
from lovia_otel.facts import clean_text
from lovia_otel.spans._scope import Scope, settles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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

    def _name(self) -> str:
        return names.SPAN_PASS

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

    def _measure(self, seconds: float) -> None:
        facts = self._facts
        self._record(names.METRIC_COMPACTION_DURATION, seconds)
        for key in (names.METRIC_SUMMARY_INPUT_TOKENS, names.METRIC_SUMMARY_OUTPUT_TOKENS):
            self._record(key, facts.get(key))
        self._record(names.METRIC_COMPACTION_CHUNKS, facts.get(names.COMPACTION_CHUNKS_FOLDED))
        freed, before = facts.get(names.COMPACTION_TOKENS_FREED), self.tokens_before
        useful = facts.get(names.COMPACTION_OUTCOME) in {names.COMPACTED, names.PARTIAL}
        if useful and before and isinstance(freed, int):
            self._record(names.METRIC_COMPACTION_REDUCTION, freed / before)


@dataclass(kw_only=True, eq=False)
class StageScope(Scope):
    """One stage of a pass: ``compact_context.stage {stage}``. ``index`` counts from 0."""

    stage: str
    index: int
    tokens_before: int | None = None

    _outcome_key = names.COMPACTION_OUTCOME

    @settles
    def settle(
        self,
        *,
        outcome: str | None = None,
        tokens_after: int | None = None,
        entries_after: int | None = None,
        note: str | None = None,
        error_type: str | None = None,
    ) -> None:
        """Hand over what the stage did; ``note`` is its own one-line remark."""
        self._note(
            {
                names.COMPACTION_OUTCOME: outcome,
                names.COMPACTION_TOKENS_AFTER: tokens_after,
                names.COMPACTION_ENTRIES_AFTER: entries_after,
                names.COMPACTION_NOTE: note,
                names.ERROR_TYPE: error_type,
            }
        )

    def _name(self) -> str:
        return f"{names.SPAN_STAGE} {clean_text(self.stage)}".rstrip()

    def _start(self) -> Mapping[str, object]:
        return {
            names.COMPACTION_STAGE: self.stage,
            names.COMPACTION_STAGE_INDEX: self.index,
            names.COMPACTION_TOKENS_BEFORE: self.tokens_before,
        }

    def _measure(self, seconds: float) -> None:
        self._record(names.METRIC_STAGE_DURATION, seconds)
        before, after = self.tokens_before, self._facts.get(names.COMPACTION_TOKENS_AFTER)
        applied = self._facts.get(names.COMPACTION_OUTCOME) == names.APPLIED
        if applied and before is not None and isinstance(after, int):
            self._record(names.METRIC_FREED_TOKENS, before - after)


@dataclass(kw_only=True, eq=False)
class FoldScope(Scope):
    """The folding of one chunk into the summary: ``fold_chunk``, inside the summary's stage.

    ``index`` counts from 0; ``tokens`` and ``entries`` are the chunk's size.
    """

    index: int
    tokens: int | None = None
    entries: int | None = None

    @settles
    def settle(
        self,
        *,
        summary_tokens: int | None = None,
        attempts: int | None = None,
        degraded: bool | None = None,
    ) -> None:
        """Hand over the new summary's size, the model calls it took, and if an entry was split."""
        self._note(
            {
                names.CHUNK_SUMMARY_TOKENS: summary_tokens,
                names.CHUNK_ATTEMPTS: attempts,
                names.CHUNK_DEGRADED: degraded,
            }
        )

    def _name(self) -> str:
        return names.SPAN_FOLD

    def _start(self) -> Mapping[str, object]:
        return {
            names.CHUNK_INDEX: self.index,
            names.CHUNK_TOKENS: self.tokens,
            names.CHUNK_ENTRIES: self.entries,
        }


pass_scope = PassScope
stage_scope = StageScope
fold_scope = FoldScope
