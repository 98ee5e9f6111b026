"""``Compaction(...)``, the default policy of the 0.9 line, as settings of ours."""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any

from lovia.context.compact_protocol import CompactionRequest
from lovia.context.compacting import CompactingContextPolicy
from lovia.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context.policy import PolicyContext
    from lovia.context.summarizer import Summarizer
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["Compaction"]


class Compaction(CompactingContextPolicy):
    """The former name and settings of :class:`CompactingContextPolicy`, which it becomes.

    Each call warns, and names the call that replaces it. As before, the number of entries alone
    never starts a pass.

    Args:
        context_window: The model's window in tokens; ``None`` asks the provider.
        compact_at: Where compaction starts: a share of the window less the reserve (a float), or
            tokens (an int).
        compact_to: Where it ends, likewise.
        keep_recent_tokens: No longer has an effect: recent entries are kept by number.
        reserve_output_tokens: Tokens of the window kept free for the answer; at most half of it.
        stages: Refused: stages have another form now.
        summarizer: Writes summaries; one of the 0.9 line is accepted.
        image_tokens: No longer has an effect: an image is priced by its detail, and by what the
            provider counts.
        store: Refused: archives keep what stores kept.

    Raises:
        UserError: A setting cannot be translated, or the limits make no sense.
    """

    def __init__(  # noqa: PLR0913 - the former keyword surface
        self,
        *,
        context_window: int | None = None,
        compact_at: float = 0.85,
        compact_to: float = 0.6,
        keep_recent_tokens: int | None = None,
        reserve_output_tokens: int = 16_384,
        stages: Sequence[Any] | None = None,
        summarizer: Any = None,
        image_tokens: int | None = None,
        store: Any = None,
    ) -> None:
        _refuse("stages", stages, "Write stages with `async apply(entries, *, ctx)`.")
        _refuse("store", store, "Use archive=, such as FileCompactionArchive().")
        reserve = reserve_output_tokens
        if context_window is not None:
            reserve = min(reserve, context_window // 2)
        usable = None if context_window is None else context_window - reserve
        settings: dict[str, Any] = {
            "context_window_tokens": context_window,
            **_limits(compact_at, compact_to, usable),
            "reserve_output_tokens": reserve,
            "max_entries": None,
        }
        shown = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        message = f"Compaction(...) is now CompactingContextPolicy({shown})."
        if keep_recent_tokens is not None:
            message += " keep_recent_tokens has no effect; see keep_recent_entries."
        if image_tokens is not None:
            message += " image_tokens has no effect; see token_counter."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        super().__init__(**settings, summarizer=_as_ours(summarizer))


def _refuse(name: str, value: Any, hint: str) -> None:
    if value is not None:
        message = f"Compaction's setting {name!r} cannot be translated."
        raise UserError(message, hint=f"Use CompactingContextPolicy. {hint}")


def _limits(at: Any, to: Any, usable: int | None) -> dict[str, Any]:
    """Return trigger and target; ``usable`` is the window in tokens without the reserve."""
    if isinstance(at, float) and isinstance(to, float):
        return {"trigger_ratio": at, "target_ratio": to}
    if isinstance(at, int):
        # The target is told as a share of the trigger.
        tokens = to if isinstance(to, int) else to * (usable or at)
        return {"trigger_tokens": at, "trigger_ratio": 1.0, "target_ratio": tokens / at}
    if usable is None:
        message = f"compact_to={to} is in tokens, compact_at={at} a share of an unknown window."
        raise UserError(message, hint="State context_window, or give both in the same unit.")
    return {"trigger_ratio": at, "target_ratio": to / usable}


def _as_ours(summarizer: Any) -> Summarizer | None:
    if summarizer is None:
        return None
    parameters = inspect.signature(summarizer.summarize).parameters
    ready: Summarizer = _FormerSummarizer(summarizer) if "req" in parameters else summarizer
    return ready


class _FormerSummarizer:
    """Lets a summarizer with ``summarize(entries, *, req, prior_summary)`` serve as ours."""

    def __init__(self, summarizer: Any) -> None:
        self._summarizer = summarizer

    async def summarize(
        self,
        entries: Sequence[TranscriptEntry],
        *,
        ctx: PolicyContext,
        prior_summary: str | None = None,
        focus: str | None = None,
    ) -> str:
        """Ask the wrapped summarizer, which knows of no focus."""
        request = CompactionRequest.of(list(entries), ctx)
        text: str = await self._summarizer.summarize(
            list(entries), req=request, prior_summary=prior_summary
        )
        return text
