"""From a policy's result to the event that tells of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.events import ContextCompacted

if TYPE_CHECKING:
    from lovia.context.policy import ContextPolicyResult, PolicyContext
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["compacted_event"]


def compacted_event(
    result: ContextPolicyResult,
    transcript: list[TranscriptEntry],
    *,
    ctx: PolicyContext,
    reactive: bool,
) -> ContextCompacted:
    """Describe what a pass changed; the lists are copied, so later turns leave the event alone."""
    sizes = result.sizes
    return ContextCompacted(
        session_id=ctx.session_id,
        entries_before=list(transcript),
        entries_after=list(result.entries),
        summary=result.summary,
        reactive=reactive,
        reason=result.reason,
        archive_ref=result.archive_ref,
        tokens_before_estimate=sizes.request_before if sizes else None,
        tokens_after_estimate=sizes.request_after if sizes else None,
        history_tokens_estimate=sizes.history if sizes else None,
        run_id=ctx.run_id,
        agent=ctx.agent,
        outcome=result.outcome,
        stages=result.stages,
        usage=result.usage,
        pass_id=result.metadata.get("pass_id"),
        detail=tuple(map(str, result.metadata.get("detail", ()))),
    )
