"""The telemetry of a run as a whole, and of the agents in it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lovia.runtime.endings import LIMITS
from lovia_otel import logs, record_cancellation
from lovia_otel.logs import Actor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lovia.errors import RunCancelled
    from lovia.runtime.run_context import RunContext
    from lovia.runtime.state import RunState
    from lovia_otel import RunScope

__all__ = ["actor", "settled", "tell_cancelled"]


def actor(ctx: RunContext[Any]) -> Actor:
    """Return whom a log event of this run is about."""
    return Actor(
        agent=str(getattr(ctx.agent, "name", "")), run_id=ctx.run_id, session_id=ctx.session_id
    )


def tell_cancelled(ctx: RunContext[Any], error: RunCancelled) -> None:
    """Count a cancelled run and tell why it was cancelled, and where."""
    reason, checkpoint = error.cancellation_reason, error.cancellation_checkpoint
    record_cancellation(reason, checkpoint)
    logs.run_cancelled(
        reason=reason,
        checkpoint=checkpoint,
        checkpoints=ctx.cancel_token.checkpoints_passed,
        actor=actor(ctx),
    )


@contextmanager
def settled(scope: RunScope, run: RunState) -> Iterator[None]:
    """Open a span for what an agent does in the block, and hand over how it ended and what it cost.

    Tokens are those spent in the block, the summaries' apart from the turns'.

    Args:
        scope: The span.
        run: The run; it notes the span as the one that a resumed run links to.
    """
    before, compactions = run.ctx.usage.clone(), run.compactions
    with scope:
        run.traceparent = scope.traceparent() or run.traceparent
        try:
            yield
            scope.settle(outcome="suspended" if run.waiting else "completed")
        except LIMITS:
            scope.settle(outcome="limit_reached")
            raise
        finally:
            now = run.ctx.usage
            summary_in = now.summary.input_tokens - before.summary.input_tokens
            summary_out = now.summary.output_tokens - before.summary.output_tokens
            scope.settle(
                turns=run.ctx.turn,
                compactions=run.compactions - compactions,
                input_tokens=now.input_tokens - before.input_tokens - summary_in,
                output_tokens=now.output_tokens - before.output_tokens - summary_out,
                summary_input_tokens=summary_in,
                summary_output_tokens=summary_out,
            )
