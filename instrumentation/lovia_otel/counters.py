"""Things that are counted without a span of their own."""

from __future__ import annotations

from lovia_otel import names, providers
from lovia_otel.facts import clean
from lovia_otel.guard import guarded


@guarded
def record_handoff(source: str, target: str) -> None:
    """Count a handoff from the agent ``source`` to the agent ``target``."""
    instruments = providers.instruments()
    if instruments is not None:
        facts = clean({names.HANDOFF_SOURCE: source, names.HANDOFF_TARGET: target})
        instruments.record(names.METRIC_HANDOFFS, 1, facts)


@guarded
def record_cancellation(reason: str | None = None, checkpoint: str | None = None) -> None:
    """Count a cancelled run: why (``user``, ``timeout``, ``shutdown``, ``parent``), and where.

    ``checkpoint`` is the named safe point at which the run noticed. Count once a run: the spans
    that are open at that time each carry both as attributes already.
    """
    instruments = providers.instruments()
    if instruments is not None:
        facts = clean(
            {names.CANCELLATION_REASON: reason, names.CANCELLATION_CHECKPOINT: checkpoint}
        )
        instruments.record(names.METRIC_CANCELLATIONS, 1, facts)
