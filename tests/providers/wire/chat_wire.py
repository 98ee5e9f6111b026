"""Chat Completions as a strict server speaks it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from openai.types.chat import (
    ChatCompletionAssistantMessageParam,
    ChatCompletionContentPartImageParam,
    ChatCompletionContentPartTextParam,
    ChatCompletionFunctionToolParam,
    ChatCompletionMessageFunctionToolCallParam,
    ChatCompletionSystemMessageParam,
    ChatCompletionToolMessageParam,
    ChatCompletionUserMessageParam,
)
from openai.types.chat.chat_completion_content_part_image_param import ImageURL
from openai.types.chat.chat_completion_content_part_param import File, FileFile
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.shared_params import FunctionDefinition

from tests.providers.wire.script import Answer, Block, CallTool, Refusal, Spent, Text, Thought
from tests.providers.wire.strict import NAME, demand, filled, known_fields, tokens_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")


def check(body: dict[str, Any], *, official: bool) -> None:
    """Refuse what OpenAI refuses, or (not official) what a model's strict template refuses."""
    extra = () if official else ("max_tokens",)
    known_fields(body, "request", CompletionCreateParamsStreaming, also=extra)
    demand(not (official and "max_tokens" in body), "max_tokens", "is not supported")
    demand("parallel_tool_calls" not in body or body.get("tools"), "request", "has no tools")
    demand(body.get("messages"), "messages", "must not be empty")
    for index, tool in enumerate(body.get("tools", [])):
        _check_tool(tool, f"tools[{index}]")
    for index, message in enumerate(body["messages"]):
        _check_message(message, f"messages[{index}]", official=official)
    _check_pairs(body["messages"])
    if not official:
        _check_template(body["messages"])


def _check_tool(tool: Any, where: str) -> None:
    known_fields(tool, where, ChatCompletionFunctionToolParam)
    function = known_fields(tool["function"], f"{where}.function", FunctionDefinition)
    demand(NAME.fullmatch(function["name"]), f"{where}.function.name", "has a bad name")
    demand(function["parameters"].get("type") == "object", where, "parameters must be an object")


def _check_message(message: Any, where: str, *, official: bool) -> None:
    match message.get("role"):
        case "system" | "developer":
            known_fields(message, where, ChatCompletionSystemMessageParam)
            filled(message["content"], where)
        case "user":
            known_fields(message, where, ChatCompletionUserMessageParam)
            _check_content(message["content"], where)
        case "assistant":
            also = () if official else _THOUGHTS
            known_fields(message, where, ChatCompletionAssistantMessageParam, also=also)
            _check_answer(message, where, official=official)
        case "tool":
            known_fields(message, where, ChatCompletionToolMessageParam)
            content = message["content"]
            demand(isinstance(content, str), where, "tool messages are text only")
            filled(content, where)
        case role:
            demand(condition=False, where=where, problem=f"no such role: {role}")


def _check_content(content: Any, where: str) -> None:
    if isinstance(content, str):
        filled(content, where)
        return
    demand(isinstance(content, list) and content, where, "content must not be empty")
    for part in content:
        match part["type"]:
            case "text":
                known_fields(part, where, ChatCompletionContentPartTextParam)
                filled(part["text"], where)
            case "image_url":
                known_fields(part, where, ChatCompletionContentPartImageParam)
                known_fields(part["image_url"], where, ImageURL)
            case "file":
                known_fields(part, where, File)
                known_fields(part["file"], where, FileFile)
            case kind:
                demand(condition=False, where=where, problem=f"no such part: {kind}")


def _check_answer(message: dict[str, Any], where: str, *, official: bool) -> None:
    calls = message.get("tool_calls")
    demand(calls is None or calls, where, "tool_calls must not be an empty array")
    demand(message.get("content") or calls, where, "an answer must have content or calls")
    if message.get("content") is not None:
        filled(message["content"], where)
    for call in calls or ():
        also = () if official else ("extra_content",)
        known_fields(call, where, ChatCompletionMessageFunctionToolCallParam, also=also)
        limit = 40 if official else 64
        demand(0 < len(call["id"]) <= limit, where, f"tool call ids have 1 to {limit} characters")
        demand(NAME.fullmatch(call["function"]["name"]), where, "function.name has a bad form")
        filled(call["function"]["arguments"], where)


def _check_pairs(messages: list[dict[str, Any]]) -> None:
    """Each message with calls is followed at once by one result for each of its calls."""
    seen: set[str] = set()
    waiting: list[str] = []
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        if message["role"] == "tool":
            demand(message["tool_call_id"] in waiting, where, "answers no call before it")
            waiting.remove(message["tool_call_id"])
            continue
        demand(not waiting, where, f"calls without a result before it: {waiting}")
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        demand(len({*waiting}) == len(waiting), where, "repeats an id")
        demand(not seen.intersection(waiting), where, "uses an id of an earlier call")
        seen.update(waiting)
    demand(not waiting, "messages", f"calls without a result: {waiting}")


def _check_template(messages: list[dict[str, Any]]) -> None:
    """One system message at most, and first; then user and assistant take turns."""
    roles = [message["role"] for message in messages]
    demand("system" not in roles[1:], "messages", "the system message must come first")
    turns = [role for role in roles if role in ("user", "assistant", "tool")]
    demand(turns[0] == "user", "messages", "the conversation must begin with a user message")
    demand(turns[-1] in ("user", "tool"), "messages", "the model's message must not be last")
    for before, after in itertools.pairwise(turns):
        good = before != after if before != "tool" else after in ("tool", "assistant", "user")
        demand(good, "messages", f"roles must alternate, not {before}, {after}")


def events(answer: Answer, body: dict[str, Any], number: int) -> Iterator[dict[str, Any] | str]:
    """Yield the chunks of an answer; the last is the end mark."""
    shared = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**shared, "model": body["model"], "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    calls = 0
    for block in answer.blocks:
        for delta in _deltas(block, number, calls):
            yield chunk(delta)
        calls += isinstance(block, CallTool)
    yield chunk({}, answer.finish or ("tool_calls" if calls else "stop"))
    if body.get("stream_options", {}).get("include_usage"):
        yield {**shared, "model": body["model"], "choices": [], "usage": _usage(answer, body)}
    yield "[DONE]"


def _deltas(block: Block, number: int, position: int) -> Iterator[dict[str, Any]]:
    match block:
        case Text():
            yield from ({"content": piece} for piece in _pieces(block.text))
        case Thought():
            yield from ({"reasoning_content": piece} for piece in _pieces(block.text))
        case Refusal():
            yield {"refusal": block.text}
        case CallTool():
            call_id = block.id or f"call_{number}_{position}"
            first = {"name": block.name, "arguments": ""}
            yield _call_piece(position, id=call_id, type="function", function=first)
            for piece in _pieces(block.written):
                yield _call_piece(position, function={"arguments": piece})


def _call_piece(position: int, **fields: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": position, **fields}]}


def _usage(answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
    spent = answer.spent or Spent(tokens_in(body))
    return {
        "prompt_tokens": spent.prompt,
        "completion_tokens": spent.answer,
        "total_tokens": spent.prompt + spent.answer,
        "prompt_tokens_details": {"cached_tokens": spent.read, "cache_write_tokens": spent.written},
        "completion_tokens_details": {"reasoning_tokens": spent.thinking},
    }


def _pieces(text: str) -> Iterator[str]:
    step = max(len(text) // 3, 1)
    for start in range(0, len(text), step):
        yield text[start : start + step]
