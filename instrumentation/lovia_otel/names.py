"""Every telemetry name of this project, once: spans, attributes, metrics, log events, values.

``gen_ai.*`` names follow the GenAI semantic conventions (first standalone release, v0.1.0, all of
it in development); what has no convention is ``lovia.*``, since custom names under ``gen_ai.`` are
against the naming rules. Custom *values* of ``gen_ai.operation.name`` are allowed.

What each means, with type, unit and an example, is in :mod:`lovia_otel.catalogue`, for metrics in
:mod:`lovia_otel.metrics`; ``docs/telemetry-reference.md`` shows all of it.
"""

from __future__ import annotations

from typing import Final

# --- the instrumentation scope ------------------------------------------------------------------

SCOPE_NAME: Final = "lovia_otel"
SCOPE_VERSION: Final = "1.0.0.dev0"  # of the distribution; looking it up would read files
SCHEMA_URL: Final = "https://opentelemetry.io/schemas/gen-ai/1.42.0"  # what the conventions declare

# --- span names and operations ------------------------------------------------------------------

SPAN_RUN: Final = "invoke_agent"  # followed by the agent's name
SPAN_TURN: Final = "agent_turn"
SPAN_CHAT: Final = "chat"  # followed by the model's name
SPAN_TOOL: Final = "execute_tool"  # followed by the tool's name
SPAN_PASS: Final = "compact_context"
SPAN_STAGE: Final = "compact_context.stage"  # followed by the stage's name
SPAN_FOLD: Final = "fold_chunk"
SPAN_ARCHIVE: Final = "archive_write"
SPAN_CHECKPOINT_SAVE: Final = "checkpoint_save"
SPAN_CHECKPOINT_LOAD: Final = "checkpoint_load"

OPERATION_RUN: Final = SPAN_RUN
OPERATION_CHAT: Final = SPAN_CHAT
OPERATION_TOOL: Final = SPAN_TOOL
OPERATION_PASS: Final = SPAN_PASS

# --- attributes: general ------------------------------------------------------------------------

ERROR_TYPE: Final = "error.type"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"

# --- attributes: GenAI conventions --------------------------------------------------------------

OPERATION_NAME: Final = "gen_ai.operation.name"
PROVIDER_NAME: Final = "gen_ai.provider.name"
AGENT_NAME: Final = "gen_ai.agent.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
CONVERSATION_COMPACTED: Final = "gen_ai.conversation.compacted"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_STREAM: Final = "gen_ai.request.stream"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
REQUEST_TOP_P: Final = "gen_ai.request.top_p"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
OUTPUT_TYPE: Final = "gen_ai.output.type"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
RESPONSE_TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
USAGE_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
USAGE_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
USAGE_CACHE_READ: Final = "gen_ai.usage.cache_read.input_tokens"
USAGE_CACHE_WRITE: Final = "gen_ai.usage.cache_write.input_tokens"
USAGE_REASONING: Final = "gen_ai.usage.reasoning.output_tokens"
TOKEN_MODALITY: Final = "gen_ai.token.modality"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_TYPE: Final = "gen_ai.tool.type"

# --- attributes: content, off by default --------------------------------------------------------

INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
SUMMARY_TEXT: Final = "lovia.compaction.summary.text"

# --- attributes: run, turn, tool ----------------------------------------------------------------

RUN_ID: Final = "lovia.run.id"
RUN_RESUMED: Final = "lovia.run.resumed"
RUN_OUTCOME: Final = "lovia.run.outcome"
RUN_TURNS: Final = "lovia.run.turns"
RUN_COMPACTIONS: Final = "lovia.run.compactions"
RUN_SUMMARY_INPUT_TOKENS: Final = "lovia.run.summary.input_tokens"
RUN_SUMMARY_OUTPUT_TOKENS: Final = "lovia.run.summary.output_tokens"
LINK_TYPE: Final = "lovia.link.type"
TURN_INDEX: Final = "lovia.turn.index"
TURN_TOOL_CALLS: Final = "lovia.turn.tool_calls"
TOOL_RESULT_TOKENS: Final = "lovia.tool.result_tokens"
TOOL_RESULT_TRUNCATED: Final = "lovia.tool.result_truncated"
HANDOFF_SOURCE: Final = "lovia.handoff.source"
HANDOFF_TARGET: Final = "lovia.handoff.target"
HANDOFF_PENDING: Final = "lovia.handoff.pending"
CANCELLATION_REASON: Final = "lovia.cancellation.reason"
CANCELLATION_CHECKPOINT: Final = "lovia.cancellation.checkpoint"
CANCELLATION_CHECKPOINTS: Final = "lovia.cancellation.checkpoints"

# --- attributes: what one model call sends ------------------------------------------------------

INFERENCE_PURPOSE: Final = "lovia.inference.purpose"
CONTEXT_VIEW: Final = "lovia.context.view"
CONTEXT_HISTORY_TOKENS: Final = "lovia.context.history_tokens"
CONTEXT_REQUEST_TOKENS: Final = "lovia.context.request_tokens"
CONTEXT_WINDOW_TOKENS: Final = "lovia.context.window_tokens"
CONTEXT_SAVED_TOKENS: Final = "lovia.context.saved_tokens"
CONTEXT_PREFIX_REUSED: Final = "lovia.context.prefix_reused"
CONTEXT_NEW_TOKENS: Final = "lovia.context.new_tokens"
CONTEXT_CACHE_LOST_TOKENS: Final = "lovia.context.cache_lost_tokens"
TOKENS_SOURCE: Final = "lovia.tokens.source"

# --- attributes: money, where prices are known ---------------------------------------------------

COST_CURRENCY: Final = "lovia.cost.currency"
COST_REQUEST: Final = "lovia.cost.request"
COST_SUMMARY: Final = "lovia.cost.summary"
COST_SAVED: Final = "lovia.cost.saved"
COST_INFLATED: Final = "lovia.cost.inflated"
COST_CACHE_LOST: Final = "lovia.cost.cache_lost"

# --- attributes: a compaction pass, its stages and folds ----------------------------------------

COMPACTION_POLICY: Final = "lovia.compaction.policy"
COMPACTION_ID: Final = "lovia.compaction.id"
COMPACTION_TRIGGER: Final = "lovia.compaction.trigger"
COMPACTION_OUTCOME: Final = "lovia.compaction.outcome"
COMPACTION_REASON: Final = "lovia.compaction.reason"
COMPACTION_TOKENS_BEFORE: Final = "lovia.compaction.tokens_before"
COMPACTION_TOKENS_AFTER: Final = "lovia.compaction.tokens_after"
COMPACTION_TOKENS_FREED: Final = "lovia.compaction.tokens_freed"
COMPACTION_TOKENS_TARGET: Final = "lovia.compaction.tokens_target"
COMPACTION_TOKENS_MEASURED: Final = "lovia.compaction.tokens_measured"
COMPACTION_ENTRIES_BEFORE: Final = "lovia.compaction.entries_before"
COMPACTION_ENTRIES_AFTER: Final = "lovia.compaction.entries_after"
COMPACTION_STAGES: Final = "lovia.compaction.stages"
COMPACTION_STAGE_OUTCOMES: Final = "lovia.compaction.stage_outcomes"
COMPACTION_STAGE: Final = "lovia.compaction.stage"
COMPACTION_STAGE_INDEX: Final = "lovia.compaction.stage_index"
COMPACTION_NOTE: Final = "lovia.compaction.note"
COMPACTION_CHUNKS: Final = "lovia.compaction.chunks"
COMPACTION_CHUNKS_FOLDED: Final = "lovia.compaction.chunks_folded"
COMPACTION_SUMMARY_CALLS: Final = "lovia.compaction.summary.calls"
COMPACTION_SUMMARY_INPUT_TOKENS: Final = "lovia.compaction.summary.input_tokens"
COMPACTION_SUMMARY_OUTPUT_TOKENS: Final = "lovia.compaction.summary.output_tokens"
COMPACTION_IDENTIFIERS_KEPT: Final = "lovia.compaction.identifiers.kept"
COMPACTION_IDENTIFIERS_TOTAL: Final = "lovia.compaction.identifiers.total"
COMPACTION_REACTIVE: Final = "lovia.compaction.reactive"
COMPACTION_SKIP_REASON: Final = "lovia.compaction.skip_reason"
CHUNK_INDEX: Final = "lovia.chunk.index"
CHUNK_PLANNED: Final = "lovia.chunk.planned"
CHUNK_TOKENS: Final = "lovia.chunk.tokens"
CHUNK_ENTRIES: Final = "lovia.chunk.entries"
CHUNK_SUMMARY_TOKENS: Final = "lovia.chunk.summary_tokens"
CHUNK_ATTEMPTS: Final = "lovia.chunk.attempts"
CHUNK_DEGRADED: Final = "lovia.chunk.degraded"

# --- attributes: archive and checkpoint ---------------------------------------------------------

ARCHIVE_STORE: Final = "lovia.archive.store"
ARCHIVE_SIZE: Final = "lovia.archive.size"
ARCHIVE_ENTRIES: Final = "lovia.archive.entries"
ARCHIVE_REF: Final = "lovia.archive.ref"
CHECKPOINT_STORE: Final = "lovia.checkpoint.store"
CHECKPOINT_SIZE: Final = "lovia.checkpoint.size"
CHECKPOINT_ENTRIES: Final = "lovia.checkpoint.entries"
CHECKPOINT_SEQUENCE: Final = "lovia.checkpoint.sequence"
CHECKPOINT_STATUS: Final = "lovia.checkpoint.status"

# --- metrics: context ---------------------------------------------------------------------------

METRIC_HISTORY_SIZE: Final = "lovia.context.history.size"
METRIC_REQUEST_SIZE: Final = "lovia.context.request.size"
METRIC_WINDOW_UTILIZATION: Final = "lovia.context.window.utilization"
METRIC_SAVED_TOKENS: Final = "lovia.context.saved.tokens"
METRIC_INFLATED_TOKENS: Final = "lovia.context.inflated.tokens"
METRIC_PREFIX_REUSED: Final = "lovia.context.prefix.reused"

# --- metrics: compaction ------------------------------------------------------------------------

METRIC_SUMMARY_INPUT_TOKENS: Final = COMPACTION_SUMMARY_INPUT_TOKENS  # one name, two signals
METRIC_SUMMARY_OUTPUT_TOKENS: Final = COMPACTION_SUMMARY_OUTPUT_TOKENS
METRIC_COMPACTION_DURATION: Final = "lovia.compaction.duration"
METRIC_COMPACTION_REDUCTION: Final = "lovia.compaction.reduction"
METRIC_COMPACTION_CHUNKS: Final = COMPACTION_CHUNKS
METRIC_STAGE_DURATION: Final = "lovia.compaction.stage.duration"
METRIC_FREED_TOKENS: Final = "lovia.compaction.freed.tokens"

# --- metrics: money -----------------------------------------------------------------------------

METRIC_COST_REQUEST: Final = COST_REQUEST  # one name, two signals
METRIC_COST_SUMMARY: Final = COST_SUMMARY
METRIC_COST_SAVED: Final = COST_SAVED
METRIC_COST_INFLATED: Final = COST_INFLATED
METRIC_COST_CACHE_LOST: Final = COST_CACHE_LOST
METRIC_UNPRICED_CALLS: Final = "lovia.cost.unpriced.calls"

# --- metrics: storage, control, runs, model calls -----------------------------------------------

METRIC_ARCHIVE_DURATION: Final = "lovia.archive.write.duration"
METRIC_ARCHIVE_SIZE: Final = "lovia.archive.write.size"
METRIC_CHECKPOINT_DURATION: Final = "lovia.checkpoint.save.duration"
METRIC_CHECKPOINT_SIZE: Final = "lovia.checkpoint.save.size"
METRIC_HANDOFFS: Final = "lovia.agent.handoffs"
METRIC_CANCELLATIONS: Final = "lovia.cancellations"
METRIC_RUN_DURATION: Final = "gen_ai.invoke_agent.duration"
METRIC_RUNS_ACTIVE: Final = "lovia.agent.run.active"
METRIC_TOOL_DURATION: Final = "gen_ai.execute_tool.duration"
METRIC_INFERENCE_DURATION: Final = "gen_ai.client.inference.duration"
METRIC_TIME_TO_FIRST_CHUNK: Final = "gen_ai.client.inference.time_to_first_chunk"
METRIC_INPUT_TOKENS: Final = "gen_ai.client.inference.usage.input_tokens"
METRIC_OUTPUT_TOKENS: Final = "gen_ai.client.inference.usage.output_tokens"
METRIC_CACHE_READ_TOKENS: Final = "gen_ai.client.inference.usage.cache_read.input_tokens"
METRIC_CACHE_WRITE_TOKENS: Final = "gen_ai.client.inference.usage.cache_write.input_tokens"
METRIC_REASONING_TOKENS: Final = "gen_ai.client.inference.usage.reasoning.output_tokens"
METRIC_DROPPED_EVENTS: Final = "lovia.telemetry.dropped.events"

# --- units and bucket boundaries ----------------------------------------------------------------

UNIT_TOKENS: Final = "{token}"
UNIT_SECONDS: Final = "s"
UNIT_RATIO: Final = "1"
UNIT_BYTES: Final = "By"
UNIT_CHUNKS: Final = "{chunk}"
UNIT_RUNS: Final = "{run}"
UNIT_HANDOFFS: Final = "{handoff}"
UNIT_CANCELLATIONS: Final = "{cancellation}"
UNIT_EVENTS: Final = "{event}"
UNIT_CALLS: Final = "{call}"
UNIT_CURRENCY: Final = "{currency}"  # which one is an attribute

TOKEN_BUCKETS: Final = (
    *(256, 1024, 4096, 8192, 16384, 32768, 65536, 98304, 131072),
    *(163840, 196608, 262144, 393216, 524288, 786432, 1048576, 2097152),
)
SECOND_BUCKETS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25),
    *(0.5, 1, 2.5, 5, 10, 30, 60, 120),
)
RATIO_BUCKETS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1, 1.1)
BYTE_BUCKETS: Final = tuple(1024 * 4**power for power in range(9))  # 1 KiB, 4 KiB, ... 64 MiB
CHUNK_BUCKETS: Final = (0, 1, 2, 4, 8, 16, 32, 64, 128)

# --- log events ---------------------------------------------------------------------------------

EVENT_COMPACTION_STARTED: Final = "lovia.compaction.started"
EVENT_COMPACTION_FOLD: Final = "lovia.compaction.fold"
EVENT_CONTEXT_COMPACTED: Final = "lovia.context.compacted"
EVENT_CONTEXT_MEASURED: Final = "lovia.context.measured"
EVENT_COMPACTION_EXCEPTION: Final = "lovia.compaction.exception"
EVENT_COMPACTION_SKIPPED: Final = "lovia.compaction.skipped"
EVENT_RUN_CANCELLED: Final = "lovia.run.cancelled"
EVENT_RUN_RESUMED: Final = RUN_RESUMED  # one name, two signals
EVENT_CHECKPOINT_SAVED: Final = "lovia.checkpoint.saved"
EVENT_AGENT_HANDOFF: Final = "lovia.agent.handoff"
EVENT_ARCHIVE_WRITTEN: Final = "lovia.archive.written"
EVENT_INFERENCE_DETAILS: Final = "gen_ai.client.inference.operation.details"

# --- vocabularies -------------------------------------------------------------------------------

FAILED: Final = "failed"  # of a run, a pass or a stage
CANCELLED: Final = "cancelled"  # of a run, a pass or a stage
NOOP: Final = "noop"  # of a pass or a stage: it ran and changed nothing

COMPLETED: Final = "completed"
SUSPENDED: Final = "suspended"  # waits for an approval, saved for later
LIMIT_REACHED: Final = "limit_reached"  # turns or budget; no cancellation
RUN_OUTCOMES: Final = (COMPLETED, FAILED, CANCELLED, SUSPENDED, LIMIT_REACHED)

COMPACTED: Final = "compacted"
PARTIAL: Final = "partial"  # useful, but a stage failed
INFLATED: Final = "inflated"  # larger, and therefore not used
PASS_OUTCOMES: Final = (COMPACTED, PARTIAL, NOOP, INFLATED, FAILED, CANCELLED)

APPLIED: Final = "applied"
SKIPPED: Final = "skipped"
REFUSED: Final = "refused"  # an invalid result; the stage's input went on
STAGE_OUTCOMES: Final = (APPLIED, NOOP, SKIPPED, REFUSED, FAILED, CANCELLED)

TRIGGER_THRESHOLD: Final = "threshold"
TRIGGER_ENTRIES: Final = "entries"
TRIGGER_OVERFLOW: Final = "overflow"
TRIGGER_MANUAL: Final = "manual"
TRIGGERS: Final = (
    *(TRIGGER_THRESHOLD, TRIGGER_ENTRIES, "batch"),
    *(TRIGGER_OVERFLOW, TRIGGER_MANUAL),
)

SKIP_REASONS: Final = ("stalled", "breaker_open")  # of a pass that a limit called for

VIEW_ORIGINAL: Final = "original"
VIEW_COMPACTED: Final = COMPACTED
VIEW_REPLAYED: Final = "replayed"
CONTEXT_VIEWS: Final = (VIEW_ORIGINAL, VIEW_COMPACTED, VIEW_REPLAYED)
SOURCE_PROVIDER: Final = "provider"
SOURCE_TOKENIZER: Final = "tokenizer"
SOURCE_BYTES: Final = "bytes"
TOKENS_SOURCES: Final = (SOURCE_PROVIDER, SOURCE_TOKENIZER, SOURCE_BYTES)
PURPOSE_TURN: Final = "turn"
PURPOSE_SUMMARIZE: Final = "summarize"
INFERENCE_PURPOSES: Final = (PURPOSE_TURN, PURPOSE_SUMMARIZE)

REASON_USER: Final = "user"
REASON_PARENT: Final = "parent"
CANCELLATION_REASONS: Final = (REASON_USER, "timeout", "shutdown", REASON_PARENT)
CHECKPOINTS: Final = (
    *("pass", "stage", "fold", "summary_stream", "turn"),
    *("model_stream", "tool_preflight", "checkpoint_save"),
)
LINK_RESUMED_FROM: Final = "resumed_from"
TOOL_TYPE_FUNCTION: Final = "function"
HANDOFF_TOOL_PREFIX: Final = "transfer_to_"  # followed by the target agent's name
MODALITY_UNKNOWN: Final = "unknown"  # providers that we know report no modality
OTHER: Final = "_OTHER"  # an error without a class, a name beyond the bound

# --- environment variables ----------------------------------------------------------------------

ENV_CAPTURE_CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
ENV_EMIT_EVENT: Final = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"
ENV_PRICES: Final = "LOVIA_OTEL_PRICES"
