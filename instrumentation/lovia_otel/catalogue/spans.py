"""Every span: what it covers, and which attributes it has."""

from __future__ import annotations

from typing import Final

from lovia_otel import names
from lovia_otel.catalogue.entries import Span

#: What any span is given when it ends with an error, or by a cancellation.
STOPPED: Final = (names.ERROR_TYPE, names.CANCELLATION_REASON, names.CANCELLATION_CHECKPOINT)
_WHO: Final = (names.OPERATION_NAME, names.AGENT_NAME, names.CONVERSATION_ID)

SPANS: Final = (
    Span(
        *(names.SPAN_RUN, "{agent}", "internal", "a run of an agent"),
        (*_WHO, names.RUN_ID, names.RUN_RESUMED),
        (
            *(names.RUN_OUTCOME, names.RUN_TURNS, names.RUN_COMPACTIONS),
            *(names.USAGE_INPUT_TOKENS, names.USAGE_OUTPUT_TOKENS),
            *(names.RUN_SUMMARY_INPUT_TOKENS, names.RUN_SUMMARY_OUTPUT_TOKENS),
            *(names.COST_REQUEST, names.COST_SUMMARY, names.COST_CURRENCY),
            *STOPPED,
        ),
        (names.LINK_TYPE,),
    ),
    Span(
        *(names.SPAN_TURN, "", "internal", "one turn: a model call, and the tool calls it led to"),
        (names.TURN_INDEX,),
        (names.TURN_TOOL_CALLS, *STOPPED),
    ),
    Span(
        *(names.SPAN_CHAT, "{model}", "client", "one call of a model, by a turn or for a summary"),
        (
            *(*_WHO, names.PROVIDER_NAME, names.REQUEST_MODEL, names.INFERENCE_PURPOSE),
            *(names.CONVERSATION_COMPACTED, names.SERVER_ADDRESS, names.SERVER_PORT),
            *(names.REQUEST_STREAM, names.REQUEST_TEMPERATURE, names.REQUEST_TOP_P),
            *(names.REQUEST_MAX_TOKENS, names.OUTPUT_TYPE),
            *(names.CONTEXT_VIEW, names.CONTEXT_HISTORY_TOKENS, names.CONTEXT_REQUEST_TOKENS),
            *(names.CONTEXT_WINDOW_TOKENS, names.CONTEXT_SAVED_TOKENS, names.CONTEXT_NEW_TOKENS),
            *(names.CONTEXT_PREFIX_REUSED, names.TOKENS_SOURCE),
        ),
        (
            *(names.USAGE_INPUT_TOKENS, names.USAGE_OUTPUT_TOKENS, names.USAGE_CACHE_READ),
            *(names.USAGE_CACHE_WRITE, names.USAGE_REASONING),
            *(names.RESPONSE_MODEL, names.RESPONSE_ID, names.RESPONSE_FINISH_REASONS),
            *(names.RESPONSE_TIME_TO_FIRST_CHUNK, names.CONTEXT_CACHE_LOST_TOKENS),
            *(names.COST_REQUEST, names.COST_SUMMARY, names.COST_SAVED, names.COST_INFLATED),
            *(names.COST_CACHE_LOST, names.COST_CURRENCY),
            *(names.INPUT_MESSAGES, names.OUTPUT_MESSAGES, names.SYSTEM_INSTRUCTIONS),
            *STOPPED,
        ),
    ),
    Span(
        *(names.SPAN_TOOL, "{tool}", "internal", "one call of a tool, or a handoff"),
        (
            *(names.OPERATION_NAME, names.AGENT_NAME, names.TOOL_NAME),
            *(names.TOOL_CALL_ID, names.TOOL_TYPE),
        ),
        (
            *(names.TOOL_RESULT_TOKENS, names.TOOL_RESULT_TRUNCATED),
            *(names.HANDOFF_SOURCE, names.HANDOFF_TARGET, names.HANDOFF_PENDING),
            *(names.TOOL_CALL_ARGUMENTS, names.TOOL_CALL_RESULT),
            *STOPPED,
        ),
    ),
    Span(
        *(names.SPAN_PASS, "", "internal", "one pass of a context policy"),
        (
            *(*_WHO, names.PROVIDER_NAME, names.REQUEST_MODEL),
            *(names.COMPACTION_POLICY, names.COMPACTION_TRIGGER, names.COMPACTION_ID),
            *(names.COMPACTION_TOKENS_BEFORE, names.COMPACTION_ENTRIES_BEFORE),
            *(names.COMPACTION_TOKENS_TARGET, names.CONTEXT_WINDOW_TOKENS),
            *(names.CONTEXT_HISTORY_TOKENS, names.TOKENS_SOURCE),
        ),
        (
            *(names.COMPACTION_OUTCOME, names.COMPACTION_REASON),
            *(names.COMPACTION_TOKENS_AFTER, names.COMPACTION_ENTRIES_AFTER),
            *(names.COMPACTION_TOKENS_FREED, names.COMPACTION_STAGES),
            *(names.COMPACTION_STAGE_OUTCOMES, names.COMPACTION_CHUNKS),
            *(names.COMPACTION_CHUNKS_FOLDED, names.COMPACTION_SUMMARY_CALLS),
            *(names.COMPACTION_SUMMARY_INPUT_TOKENS, names.COMPACTION_SUMMARY_OUTPUT_TOKENS),
            *(names.COMPACTION_IDENTIFIERS_KEPT, names.COMPACTION_IDENTIFIERS_TOTAL),
            *(names.COST_SUMMARY, names.COST_CURRENCY, names.SUMMARY_TEXT),
            names.CANCELLATION_CHECKPOINTS,
            *STOPPED,
        ),
    ),
    Span(
        *(names.SPAN_STAGE, "{stage}", "internal", "one stage of a pass"),
        (
            *(names.COMPACTION_STAGE, names.COMPACTION_STAGE_INDEX),
            *(names.COMPACTION_TOKENS_BEFORE,),
        ),
        (
            *(names.COMPACTION_OUTCOME, names.COMPACTION_TOKENS_AFTER),
            *(names.COMPACTION_ENTRIES_AFTER, names.COMPACTION_NOTE),
            *STOPPED,
        ),
    ),
    Span(
        *(names.SPAN_FOLD, "", "internal", "the folding of one chunk into the summary"),
        (names.CHUNK_INDEX, names.CHUNK_PLANNED, names.CHUNK_TOKENS, names.CHUNK_ENTRIES),
        (
            *(names.CHUNK_SUMMARY_TOKENS, names.CHUNK_ATTEMPTS, names.CHUNK_DEGRADED),
            *STOPPED,
        ),
    ),
    Span(
        *(names.SPAN_ARCHIVE, "", "internal; client when remote", "one write to an archive"),
        (names.ARCHIVE_STORE, names.ARCHIVE_ENTRIES),
        (names.ARCHIVE_REF, names.ARCHIVE_SIZE, *STOPPED),
    ),
    Span(
        *(names.SPAN_CHECKPOINT_SAVE, "", "internal", "the saving of a run"),
        (names.CHECKPOINT_STORE, names.CHECKPOINT_SEQUENCE),
        (names.CHECKPOINT_SIZE, names.CHECKPOINT_ENTRIES, names.CHECKPOINT_STATUS, *STOPPED),
    ),
    Span(
        *(names.SPAN_CHECKPOINT_LOAD, "", "internal", "the loading of a saved run"),
        (names.CHECKPOINT_STORE,),
        (names.CHECKPOINT_ENTRIES, names.CHECKPOINT_SEQUENCE, names.CHECKPOINT_STATUS, *STOPPED),
    ),
)
