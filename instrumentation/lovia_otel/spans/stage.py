"""One stage of a compaction pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lovia_otel import logs, names
from lovia_otel.facts import clean_text
from lovia_otel.spans._scope import Scope, settles
from lovia_otel.spans.compaction import actor_of, current_pass

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(kw_only=True, eq=False)
class StageScope(Scope):
    """One stage of a pass: ``compact_context.stage {stage}``. ``index`` counts from 0."""

    stage: str
    index: int
    tokens_before: int | None = None

    _outcome_key = names.COMPACTION_OUTCOME

    def __post_init__(self) -> None:
        self._handled: BaseException | None = None

    @settles
    def settle(
        self,
        *,
        outcome: str | None = None,
        tokens_after: int | None = None,
        entries_after: int | None = None,
        note: str | None = None,
        error: BaseException | None = None,
        error_type: str | None = None,
    ) -> None:
        """Hand over what the stage did; ``note`` is its own one-line remark.

        ``error``, or its class alone as ``error_type``, is a failure after which the pass goes on;
        an event tells of it.
        """
        if error is not None:
            self._handled = error
            error_type = type(error).__qualname__
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

    def _opened(self) -> None:
        self._pass = current_pass()

    def _measure(self, seconds: float) -> None:
        outcome = self._facts.get(names.COMPACTION_OUTCOME)
        if self._pass is not None:
            self._pass.stage_ended(self.stage, str(outcome or ""))
        if self._error is None and names.ERROR_TYPE in self._facts:
            self._tell_handled()
        self._record(names.METRIC_STAGE_DURATION, seconds)
        before, after = self.tokens_before, self._facts.get(names.COMPACTION_TOKENS_AFTER)
        if outcome == names.APPLIED and before is not None and isinstance(after, int):
            self._record(names.METRIC_FREED_TOKENS, before - after)

    def _tell_handled(self) -> None:
        logs.compaction_exception(
            str(self._facts[names.ERROR_TYPE]) if self._handled is None else self._handled,
            pass_id=self._pass.pass_id if self._pass is not None else None,
            stage=self.stage,
            actor=actor_of(self._pass),
            at=logs.Moment(self._context),
        )


stage_scope = StageScope
