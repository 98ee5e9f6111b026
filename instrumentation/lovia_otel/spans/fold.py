"""The folding of one chunk into the running summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opentelemetry.context import create_key, get_value

from lovia_otel import logs, names
from lovia_otel.spans._scope import Scope, settles
from lovia_otel.spans.compaction import actor_of, current_pass

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLD = create_key("lovia-fold")


@dataclass(kw_only=True, eq=False)
class FoldScope(Scope):
    """The folding of one chunk into the summary: ``fold_chunk``, inside the summary's stage.

    ``index`` counts from 0, ``planned`` is how many folds the pass is expected to take;
    ``tokens`` and ``entries`` are the chunk's size.
    """

    index: int
    planned: int | None = None
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

    def spend(self, input_tokens: object, output_tokens: object) -> None:
        """Add what one of the fold's model calls spent, where that is known."""
        self._input_tokens += input_tokens if isinstance(input_tokens, int) else 0
        self._output_tokens += output_tokens if isinstance(output_tokens, int) else 0

    def __post_init__(self) -> None:
        self._input_tokens = self._output_tokens = 0

    def _name(self) -> str:
        return names.SPAN_FOLD

    def _context_key(self) -> str:
        return _FOLD

    def _start(self) -> Mapping[str, object]:
        return {
            names.CHUNK_INDEX: self.index,
            names.CHUNK_PLANNED: self.planned,
            names.CHUNK_TOKENS: self.tokens,
            names.CHUNK_ENTRIES: self.entries,
        }

    def _opened(self) -> None:
        self._pass = current_pass()

    def _measure(self, seconds: float) -> None:
        if self._error is not None:
            return
        logs.compaction_fold(
            pass_id=self._pass.pass_id if self._pass is not None else None,
            index=self.index,
            planned=self.planned,
            input_tokens=self._input_tokens,
            output_tokens=self._output_tokens,
            actor=actor_of(self._pass),
            at=logs.Moment(self._context),
        )


def current_fold() -> FoldScope | None:
    """Return the innermost fold that has a scope here."""
    found = get_value(_FOLD)
    return found if isinstance(found, FoldScope) else None


fold_scope = FoldScope
