"""Log events: facts that are worth a record of their own, in the span that is current.

Each function emits one event of the contract. An unknown fact (``None``) is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry._logs import SeverityNumber

from lovia_otel import names, providers
from lovia_otel.facts import clean
from lovia_otel.guard import guarded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.context import Context


@guarded
def inference_details(
    *,
    facts: Mapping[str, object],
    content: Mapping[str, object],
    context: Context | None = None,
) -> None:
    """Emit one model call's details: its span's facts, and content that was captured for events."""
    _emit(names.EVENT_INFERENCE_DETAILS, SeverityNumber.INFO, facts, content, context)


def _emit(
    event: str,
    severity: SeverityNumber,
    facts: Mapping[str, object],
    content: Mapping[str, object],
    context: Context | None,
) -> None:
    logger = providers.logger()
    if logger is None or not logger.enabled(
        context=context, severity_number=severity, event_name=event
    ):
        return
    logger.emit(
        event_name=event,
        severity_number=severity,
        severity_text=severity.name,
        attributes={**clean(facts), **content},
        context=context,
    )
