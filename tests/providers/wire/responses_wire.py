"""Responses as a strict server speaks it."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from openai.types.responses import (
    FunctionToolParam,
    ResponseFunctionToolCallParam,
    ResponseInputFileParam,
    ResponseInputImageParam,
    ResponseInputTextParam,
    ResponseOutputTextParam,
    ResponseReasoningItemParam,
)
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from openai.types.responses.response_input_param import FunctionCallOutput

from tests.providers.wire.script import Answer, CallTool, Refusal, Spent, Text, Thought
from tests.providers.wire.strict import NAME, demand, filled, known_fields, tokens_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PARTS: dict[str, Any] = {
    "input_text": ResponseInputTextParam,
    "input_image": ResponseInputImageParam,
    "input_file": ResponseInputFileParam,
}


def check(body: dict[str, Any]) -> None:
    """Refuse what OpenAI refuses."""
    known_fields(body, "request", ResponseCreateParamsStreaming)
    demand(body.get("store") is False, "store", "this server stores nothing")
    demand(body.get("input"), "input", "must not be empty")
    for index, tool in enumerate(body.get("tools", [])):
        where = f"tools[{index}]"
        known_fields(tool, where, FunctionToolParam)
        demand(NAME.fullmatch(tool["name"]), where, "has a bad name")
        demand(isinstance(tool.get("strict"), bool), where, "strict must be said")
    for index, item in enumerate(body["input"]):
        _check_item(item, f"input[{index}]")
    _check_thoughts(body["input"])
    _check_pairs(body["input"])


def _check_item(item: Any, where: str) -> None:
    match item.get("type"):
        case "message":
            known_fields(item, where, also=("type", "role", "content"))
            demand(item["content"], where, "content must not be empty")
            for part in item["content"]:
                _check_part(part, item["role"], where)
        case "reasoning":
            known_fields(item, where, ResponseReasoningItemParam)
            demand("summary" in item, where, "summary is missing")
            text = "".join(part["text"] for part in item["summary"])
            good = item.get("encrypted_content") == _encrypted(item["id"], text)
            demand(good, where, "the encrypted content could not be verified")
        case "function_call":
            known_fields(item, where, ResponseFunctionToolCallParam)
            demand(_CALL_ID.fullmatch(item["call_id"]), where, "call_id has a bad form")
            demand(NAME.fullmatch(item["name"]), where, "name has a bad form")
            filled(item["arguments"], where)
        case "function_call_output":
            known_fields(item, where, FunctionCallOutput)
            if isinstance(item["output"], str):
                filled(item["output"], where)
                return
            for part in item["output"]:
                _check_part(part, "user", where)
        case kind:
            demand(condition=False, where=where, problem=f"no such item: {kind}")


def _check_part(part: dict[str, Any], role: str, where: str) -> None:
    if role == "assistant":
        known_fields(part, where, ResponseOutputTextParam)
        demand(part["type"] == "output_text", where, "assistants say output_text")
        filled(part["text"], where)
        return
    demand(role in ("user", "system", "developer"), where, f"no such role: {role}")
    demand(part["type"] in _PARTS, where, f"no such part: {part['type']}")
    known_fields(part, where, _PARTS[part["type"]])
    if part["type"] == "input_text":
        filled(part["text"], where)


def _check_thoughts(items: list[dict[str, Any]]) -> None:
    for index, item in enumerate(items):
        if item["type"] != "reasoning":
            continue
        following = items[index + 1] if index + 1 < len(items) else {"type": "nothing"}
        good = following["type"] in ("function_call", "reasoning") or (
            following["type"] == "message" and following["role"] == "assistant"
        )
        demand(good, f"input[{index}]", "reasoning without its required following item")


def _check_pairs(items: list[dict[str, Any]]) -> None:
    """Outputs follow their calls before anybody says anything else; no id is used twice."""
    seen: set[str] = set()
    waiting: set[str] = set()
    for index, item in enumerate(items):
        where = f"input[{index}]"
        match item["type"]:
            case "function_call":
                demand(item["call_id"] not in seen, where, "uses an id of an earlier call")
                seen.add(item["call_id"])
                waiting.add(item["call_id"])
            case "function_call_output":
                demand(item["call_id"] in waiting, where, "answers no call before it")
                waiting.discard(item["call_id"])
            case "message" if item["role"] != "assistant":
                demand(not waiting, where, f"no output for {sorted(waiting)} before it")
    demand(not waiting, "input", f"no output for {sorted(waiting)}")


def _encrypted(item_id: str, text: str) -> str:
    return "enc_" + sha256(f"{item_id}|{text}".encode()).hexdigest()


def events(answer: Answer, body: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """Yield the events of an answer."""
    response = {"id": f"resp_{number}", "object": "response", "model": body["model"], "output": []}
    sequence = 0

    def event(kind: str, **fields: Any) -> dict[str, Any]:
        nonlocal sequence
        sequence += 1
        return {"type": kind, "sequence_number": sequence, **fields}

    yield event("response.created", response={**response, "status": "in_progress"})
    for index, block in enumerate(answer.blocks):
        place = {"output_index": index, "item_id": f"item_{number}_{index}"}
        item = _item(block, number, index)
        started = {**item, "status": "in_progress", **_unwritten(item)}
        yield event("response.output_item.added", output_index=index, item=started)
        for kind, delta, more in _deltas(block):
            yield event(kind, delta=delta, **place, **more)
        yield event("response.output_item.done", output_index=index, item=item)
    kind = "response.incomplete" if answer.finish else "response.completed"
    details = {"incomplete_details": {"reason": answer.finish}} if answer.finish else {}
    status = kind.removeprefix("response.")
    ended = {**response, "status": status, "usage": _usage(answer, body), **details}
    yield event(kind, response=ended)


def _item(block: Any, number: int, index: int) -> dict[str, Any]:
    match block:
        case Text():
            content = [{"type": "output_text", "text": block.text, "annotations": []}]
            return {"type": "message", "id": f"msg_{number}_{index}", **_made(content)}
        case Refusal():
            content = [{"type": "refusal", "refusal": block.text}]
            return {"type": "message", "id": f"msg_{number}_{index}", **_made(content)}
        case Thought():
            summary = [{"type": "summary_text", "text": block.text}] if block.text else []
            item_id = f"rs_{number}_{index}"
            sealed = _encrypted(item_id, block.text)
            item = {"type": "reasoning", "id": item_id, "summary": summary}
            return {**item, "encrypted_content": sealed}
        case CallTool():
            call_id = block.id or f"call_{number}_{index}"
            item = {"type": "function_call", "id": f"fc_{number}_{index}", "call_id": call_id}
            return {**item, "name": block.name, "arguments": block.written, "status": "completed"}
    raise AssertionError(block)


def _made(content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": "assistant", "status": "completed", "content": content}


def _unwritten(item: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, dict[str, Any]] = {
        "message": {"content": []},
        "reasoning": {"encrypted_content": "enc_partial"},
    }
    return empty.get(item["type"], {"arguments": ""})


def _deltas(block: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    match block:
        case Text():
            for word in re.findall(r"\S+\s*|\s+", block.text):
                yield "response.output_text.delta", word, {"content_index": 0, "logprobs": []}
        case Refusal():
            yield "response.refusal.delta", block.text, {"content_index": 0}
        case Thought() if block.text:
            yield "response.reasoning_summary_text.delta", block.text, {"summary_index": 0}
        case CallTool():
            half = len(block.written) // 2
            for piece in (block.written[:half], block.written[half:]):
                yield "response.function_call_arguments.delta", piece, {}


def _usage(answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
    spent = answer.spent or Spent(tokens_in(body))
    return {
        "input_tokens": spent.prompt,
        "output_tokens": spent.answer,
        "total_tokens": spent.prompt + spent.answer,
        "input_tokens_details": {"cached_tokens": spent.read, "cache_write_tokens": spent.written},
        "output_tokens_details": {"reasoning_tokens": spent.thinking},
    }
