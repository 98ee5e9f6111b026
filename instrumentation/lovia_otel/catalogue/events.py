"""Every log event: when it is emitted, how severe it is, and what it tells."""

from __future__ import annotations

from typing import Final

from lovia_otel import names
from lovia_otel.catalogue.entries import LogEvent
from lovia_otel.catalogue.spans import SPANS

_ACTOR: Final = (names.AGENT_NAME, names.RUN_ID, names.CONVERSATION_ID)
_BY_SPAN: Final = {span.name: span for span in SPANS}


def _of_span(name: str) -> tuple[str, ...]:
    span = _BY_SPAN[name]
    return (*span.start, *span.end)


EVENTS: Final = (
    LogEvent(
        *(names.EVENT_COMPACTION_STARTED, "INFO", "a pass began"),
        (
            *(*_ACTOR, names.COMPACTION_ID, names.COMPACTION_POLICY, names.COMPACTION_TRIGGER),
            *(names.COMPACTION_TOKENS_BEFORE, names.COMPACTION_TOKENS_TARGET),
        ),
    ),
    LogEvent(
        *(names.EVENT_COMPACTION_FOLD, "DEBUG", "a chunk was folded: a long pass, watched live"),
        (
            *(*_ACTOR, names.COMPACTION_ID, names.CHUNK_INDEX, names.CHUNK_PLANNED),
            *(names.COMPACTION_SUMMARY_INPUT_TOKENS, names.COMPACTION_SUMMARY_OUTPUT_TOKENS),
        ),
    ),
    LogEvent(
        *(names.EVENT_CONTEXT_COMPACTED, "INFO", "a pass ended: all of its numbers"),
        (*_of_span(names.SPAN_PASS), names.RUN_ID, names.COMPACTION_REACTIVE),
    ),
    LogEvent(
        *(names.EVENT_CONTEXT_MEASURED, "INFO", "the provider counted the view of a pass"),
        (
            *(*_ACTOR, names.COMPACTION_ID, names.COMPACTION_TOKENS_MEASURED),
            *(names.COMPACTION_TOKENS_AFTER, names.REQUEST_MODEL, names.PROVIDER_NAME),
        ),
    ),
    LogEvent(
        *(names.EVENT_COMPACTION_EXCEPTION, "WARN", "something failed, and the run went on"),
        (
            *(*_ACTOR, names.COMPACTION_ID, names.COMPACTION_STAGE),
            *(names.EXCEPTION_TYPE, names.EXCEPTION_MESSAGE),
        ),
    ),
    LogEvent(
        *(names.EVENT_COMPACTION_SKIPPED, "DEBUG", "no pass ran although a limit called for one"),
        (*_ACTOR, names.COMPACTION_POLICY, names.COMPACTION_SKIP_REASON),
    ),
    LogEvent(
        *(names.EVENT_RUN_CANCELLED, "INFO", "a run was stopped"),
        (
            *(*_ACTOR, names.CANCELLATION_REASON, names.CANCELLATION_CHECKPOINT),
            names.CANCELLATION_CHECKPOINTS,
        ),
    ),
    LogEvent(
        *(names.EVENT_RUN_RESUMED, "INFO", "a saved run goes on"),
        (*_ACTOR, names.RUN_TURNS),
    ),
    LogEvent(
        *(names.EVENT_CHECKPOINT_SAVED, "INFO", "a run was saved"),
        (
            *(*_ACTOR, names.CHECKPOINT_STORE, names.CHECKPOINT_SEQUENCE, names.CHECKPOINT_SIZE),
            *(names.CHECKPOINT_ENTRIES, names.CHECKPOINT_STATUS),
        ),
    ),
    LogEvent(
        *(names.EVENT_AGENT_HANDOFF, "INFO", "an agent handed over to another"),
        (*_ACTOR, names.HANDOFF_SOURCE, names.HANDOFF_TARGET, names.HANDOFF_PENDING),
    ),
    LogEvent(
        *(names.EVENT_ARCHIVE_WRITTEN, "DEBUG", "removed entries were archived"),
        (
            *(*_ACTOR, names.ARCHIVE_STORE, names.ARCHIVE_SIZE, names.ARCHIVE_ENTRIES),
            names.ARCHIVE_REF,
        ),
    ),
    LogEvent(
        *(names.EVENT_INFERENCE_DETAILS, "INFO", "one model call in full; by default off"),
        _of_span(names.SPAN_CHAT),
    ),
)
