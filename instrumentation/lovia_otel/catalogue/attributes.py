"""Every attribute: its type, its unit, what it means, and an example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lovia_otel import names
from lovia_otel.catalogue.entries import Attribute

if TYPE_CHECKING:
    from collections.abc import Iterator


def _text(name: str, meaning: str, example: str, **more: Any) -> Attribute:
    return Attribute(name, "string", meaning, example, **more)


def _texts(name: str, meaning: str, *example: str, **more: Any) -> Attribute:
    return Attribute(name, "string[]", meaning, example, **more)


def _flag(name: str, meaning: str) -> Attribute:
    return Attribute(name, "boolean", meaning, example=True)


def _count(name: str, meaning: str, example: int, **more: Any) -> Attribute:
    return Attribute(name, "int", meaning, example, **more)


def _tokens(name: str, meaning: str, example: int, **more: Any) -> Attribute:
    return Attribute(name, "int", meaning, example, names.UNIT_TOKENS, **more)


def _bytes(name: str, meaning: str, example: int) -> Attribute:
    return Attribute(name, "int", meaning, example, names.UNIT_BYTES)


def _number(name: str, meaning: str, example: float, unit: str = "") -> Attribute:
    return Attribute(name, "double", meaning, example, unit)


def _money(name: str, meaning: str, example: float) -> Attribute:
    return _number(name, meaning, example, names.UNIT_CURRENCY)


def _general() -> Iterator[Attribute]:
    yield _text(names.ERROR_TYPE, "class of the error that ended the operation", "TimeoutError")
    yield _text(names.SERVER_ADDRESS, "host of the model's endpoint", "api.openai.com")
    yield _count(names.SERVER_PORT, "port of the model's endpoint", 443)
    yield _text(names.EXCEPTION_TYPE, "class of an exception after which work went on", "OSError")
    yield _text(names.EXCEPTION_MESSAGE, "its text; content", "No space left on device")


def _gen_ai() -> Iterator[Attribute]:
    operations = (
        *(names.OPERATION_RUN, names.OPERATION_CHAT),
        *(names.OPERATION_TOOL, names.OPERATION_PASS),
    )
    yield _text(names.OPERATION_NAME, "what is done", names.OPERATION_CHAT, values=operations)
    yield _text(names.PROVIDER_NAME, "who serves the model", "openai")
    yield _text(names.AGENT_NAME, "the agent that acts", "support")
    yield _text(names.CONVERSATION_ID, "id of the session; absent without one", "s-17")
    yield _flag(
        names.CONVERSATION_COMPACTED, "true where compaction left something out; absent elsewhere"
    )
    yield _text(names.REQUEST_MODEL, "the model that was asked", "gpt-5")
    yield _flag(names.REQUEST_STREAM, "whether the answer was asked for as a stream")
    yield _number(names.REQUEST_TEMPERATURE, "sampling temperature", 0.2)
    yield _number(names.REQUEST_TOP_P, "nucleus sampling mass", 0.9)
    yield _tokens(names.REQUEST_MAX_TOKENS, "how long the answer may be", 4_096)
    yield _text(names.OUTPUT_TYPE, "what was asked for", "text", values=("text", "json"))
    yield _text(names.RESPONSE_MODEL, "the model that answered", "gpt-5-2025-08-07", elsewhere=True)
    yield _text(names.RESPONSE_ID, "the provider's id of the answer", "resp_1", elsewhere=True)
    yield _texts(names.RESPONSE_FINISH_REASONS, "why the answer ended", "stop")
    yield _number(
        *(names.RESPONSE_TIME_TO_FIRST_CHUNK, "time until the answer began", 0.41),
        names.UNIT_SECONDS,
    )
    yield _tokens(names.USAGE_INPUT_TOKENS, "the prompt, cached tokens included", 12_480)
    yield _tokens(names.USAGE_OUTPUT_TOKENS, "the answer, reasoning included", 312)
    yield _tokens(names.USAGE_CACHE_READ, "of the prompt, from the provider's cache", 11_264)
    yield _tokens(names.USAGE_CACHE_WRITE, "of the prompt, written to that cache", 1_024)
    yield _tokens(names.USAGE_REASONING, "of the answer, reasoning", 128)
    yield _text(
        names.TOKEN_MODALITY, "what the tokens are of; required on the counters of usage", "unknown"
    )
    yield _text(names.TOOL_NAME, "the tool that is called", "search")
    yield _text(names.TOOL_CALL_ID, "the model's id of the call", "call_1")
    yield _text(names.TOOL_TYPE, "kind of the tool", "function")


def _content() -> Iterator[Attribute]:
    message = '[{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]'
    answer = message.replace("user", "assistant")
    yield _text(names.INPUT_MESSAGES, "the request, as JSON; content", message)
    yield _text(names.OUTPUT_MESSAGES, "the answer, as JSON; content", answer)
    yield _text(
        *(names.SYSTEM_INSTRUCTIONS, "the instructions, apart from the request; content"),
        *("Be brief.",),
        elsewhere=True,
    )
    yield _text(names.TOOL_CALL_ARGUMENTS, "arguments of the call; content", '{"q": "tide"}')
    yield _text(names.TOOL_CALL_RESULT, "what the tool returned; content", "It comes and goes.")
    yield _text(names.SUMMARY_TEXT, "the new summary; content", "## Goal\nport the parser")


def _runs() -> Iterator[Attribute]:
    yield _text(names.RUN_ID, "id of the run", "0b6f1a9e")
    yield _flag(names.RUN_RESUMED, "whether it goes on from where it was saved")
    yield _text(
        names.RUN_OUTCOME, "how it ended", names.COMPLETED, values=tuple(names.RUN_OUTCOMES)
    )
    yield _count(names.RUN_TURNS, "turns made", 12)
    yield _count(names.RUN_COMPACTIONS, "passes that changed the view", 2)
    yield _tokens(names.RUN_SUMMARY_INPUT_TOKENS, "what its summaries read", 21_300)
    yield _tokens(names.RUN_SUMMARY_OUTPUT_TOKENS, "what its summaries wrote", 1_450)
    yield _text(
        *(names.LINK_TYPE, "of a link: why it is there", names.LINK_RESUMED_FROM),
        values=(names.LINK_RESUMED_FROM,),
    )
    yield _count(names.TURN_INDEX, "which turn of the run, from 1", 3)
    yield _count(names.TURN_TOOL_CALLS, "calls that the model made in it", 2)
    yield _tokens(names.TOOL_RESULT_TOKENS, "size of the result, estimated", 840)
    yield _flag(names.TOOL_RESULT_TRUNCATED, "whether the result was cut to the tool's limit")
    yield _text(names.HANDOFF_SOURCE, "the agent that hands over", "triage")
    yield _text(names.HANDOFF_TARGET, "the agent that takes over", "billing")
    yield _flag(names.HANDOFF_PENDING, "whether the handoff was asked for and not made yet")
    yield _text(
        *(names.CANCELLATION_REASON, "who or what stopped it", names.REASON_USER),
        values=tuple(names.CANCELLATION_REASONS),
    )
    yield _text(
        *(names.CANCELLATION_CHECKPOINT, "the safe point at which it noticed", "fold"),
        values=tuple(names.CHECKPOINTS),
    )
    yield _count(names.CANCELLATION_CHECKPOINTS, "safe points that were passed", 7)


def _contexts() -> Iterator[Attribute]:
    yield _text(
        *(names.INFERENCE_PURPOSE, "who asks: a turn of the agent, or compaction", "turn"),
        values=tuple(names.INFERENCE_PURPOSES),
    )
    yield _text(
        *(names.CONTEXT_VIEW, "what is sent: all, a view cut for this call, or an earlier one"),
        *("replayed",),
        values=tuple(names.CONTEXT_VIEWS),
    )
    yield _tokens(names.CONTEXT_HISTORY_TOKENS, "the history: as if never compacted", 182_400)
    yield _tokens(names.CONTEXT_REQUEST_TOKENS, "the request: what this call sends", 61_200)
    yield _tokens(names.CONTEXT_WINDOW_TOKENS, "the window: what the model takes", 128_000)
    yield _tokens(names.CONTEXT_SAVED_TOKENS, "saved: min(history, window) - request", 66_800)
    yield _tokens(
        names.CONTEXT_NEW_TOKENS, "what came to the conversation since the last answered call", 900
    )
    yield _tokens(
        *(names.CONTEXT_CACHE_LOST_TOKENS, "what a pass kept from coming out of the cache here"),
        24_000,
    )
    yield _number(
        *(names.CONTEXT_PREFIX_REUSED, "share of the request that begins like the last one", 0.97),
        names.UNIT_RATIO,
    )
    yield _text(
        *(names.TOKENS_SOURCE, "who counted the sizes", names.SOURCE_PROVIDER),
        values=tuple(names.TOKENS_SOURCES),
    )


def _costs() -> Iterator[Attribute]:
    yield _text(names.COST_CURRENCY, "the currency of all amounts, as ISO 4217 names it", "USD")
    yield _money(names.COST_REQUEST, "of a turn's call; of all turns on a run", 0.0184)
    yield _money(names.COST_SUMMARY, "of a summary's call; of all on a pass or a run", 0.0061)
    yield _money(names.COST_SAVED, "what the tokens would have cost that were not sent", 0.0835)
    yield _money(names.COST_INFLATED, "what tokens cost that the history does not have", 0.0001)
    yield _money(names.COST_CACHE_LOST, "what lost cache reads added to the cost", 0.027)


def _passes() -> Iterator[Attribute]:
    outcomes = tuple(dict.fromkeys((*names.PASS_OUTCOMES, *names.STAGE_OUTCOMES)))
    yield _text(names.COMPACTION_POLICY, "name of the policy", "compacting")
    yield _text(names.COMPACTION_ID, "id of the pass", "9f31c2")
    yield _text(
        *(names.COMPACTION_TRIGGER, "why the pass runs", names.TRIGGER_THRESHOLD),
        values=tuple(names.TRIGGERS),
    )
    yield _text(
        *(names.COMPACTION_OUTCOME, "how a pass or a stage ended", names.COMPACTED), values=outcomes
    )
    yield _text(
        names.COMPACTION_REASON, "the most expensive stage that changed something", "auto_summary"
    )
    yield _tokens(names.COMPACTION_TOKENS_BEFORE, "the request without this pass", 108_000)
    yield _tokens(names.COMPACTION_TOKENS_AFTER, "the request with it", 61_200)
    yield _tokens(names.COMPACTION_TOKENS_FREED, "freed: before - after", 46_800)
    yield _tokens(names.COMPACTION_TOKENS_TARGET, "the size that the pass aims for", 76_800)
    yield _tokens(
        names.COMPACTION_TOKENS_MEASURED, "the view by the provider's own count, later", 60_950
    )
    yield _count(names.COMPACTION_ENTRIES_BEFORE, "entries of the view before", 214)
    yield _count(names.COMPACTION_ENTRIES_AFTER, "entries of the view after", 52)
    yield _texts(
        names.COMPACTION_STAGES, "stages that ran, in order", "middle_snip", "auto_summary"
    )
    yield _texts(
        names.COMPACTION_STAGE_OUTCOMES, "how they ended, in the same order", "noop", "applied"
    )
    yield _text(names.COMPACTION_STAGE, "name of the stage", "auto_summary")
    yield _count(names.COMPACTION_STAGE_INDEX, "its place in the pass, from 0", 3)
    yield _text(names.COMPACTION_NOTE, "the stage's own remark", "6 entries in the middle replaced")
    yield _count(names.COMPACTION_CHUNKS, "chunks that were planned", 3)
    yield _count(names.COMPACTION_CHUNKS_FOLDED, "chunks that were summarised", 3)
    yield _count(names.COMPACTION_SUMMARY_CALLS, "model calls for summaries", 3)
    yield _tokens(names.COMPACTION_SUMMARY_INPUT_TOKENS, "what they read", 21_300)
    yield _tokens(names.COMPACTION_SUMMARY_OUTPUT_TOKENS, "what they wrote", 1_450)
    yield _count(names.COMPACTION_IDENTIFIERS_KEPT, "identifiers that the summary still has", 18)
    yield _count(names.COMPACTION_IDENTIFIERS_TOTAL, "identifiers of what it covers", 20)
    yield _flag(names.COMPACTION_REACTIVE, "whether a refusal by the provider caused it")
    yield _text(
        *(names.COMPACTION_SKIP_REASON, "why no pass ran that a limit called for", "stalled"),
        values=tuple(names.SKIP_REASONS),
    )
    yield _count(names.CHUNK_INDEX, "which chunk, from 0", 1)
    yield _count(names.CHUNK_PLANNED, "chunks that are planned", 3)
    yield _tokens(names.CHUNK_TOKENS, "size of the chunk", 7_100)
    yield _count(names.CHUNK_ENTRIES, "entries of the chunk", 31)
    yield _tokens(names.CHUNK_SUMMARY_TOKENS, "size of the summary with it", 610)
    yield _count(names.CHUNK_ATTEMPTS, "model calls that it took", 1)
    yield _flag(names.CHUNK_DEGRADED, "whether an entry was too large and had to be split")


def _stores() -> Iterator[Attribute]:
    yield _text(names.ARCHIVE_STORE, "kind of the archive", "file")
    yield _bytes(names.ARCHIVE_SIZE, "what was written", 52_311)
    yield _count(names.ARCHIVE_ENTRIES, "entries that were archived", 31)
    yield _text(
        *(names.ARCHIVE_REF, "where it is; all of the path is content, its last part is not"),
        "3fa1.json",
    )
    yield _text(names.CHECKPOINT_STORE, "kind of the store", "sqlite")
    yield _bytes(names.CHECKPOINT_SIZE, "what was written or read", 1_420)
    yield _count(names.CHECKPOINT_ENTRIES, "entries that were written or read", 2)
    yield _count(names.CHECKPOINT_SEQUENCE, "which checkpoint of the run, from 1", 4)
    yield _text(names.CHECKPOINT_STATUS, "how the run stands in it", "running")


ATTRIBUTES: Final[tuple[Attribute, ...]] = (
    *_general(),
    *_gen_ai(),
    *_content(),
    *_runs(),
    *_contexts(),
    *_costs(),
    *_passes(),
    *_stores(),
)
