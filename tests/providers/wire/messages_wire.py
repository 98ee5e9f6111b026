"""Messages as a strict server speaks it, thoughts that are bound to what stands before included."""

from __future__ import annotations

import copy
import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from anthropic.types import (
    DocumentBlockParam,
    ImageBlockParam,
    RedactedThinkingBlockParam,
    TextBlockParam,
    ThinkingBlockParam,
    ToolParam,
    ToolResultBlockParam,
    ToolUseBlockParam,
)
from anthropic.types.message_create_params import MessageCreateParamsBase

from tests.providers.wire.script import Answer, CallTool, Redacted, Spent, Text, Thought
from tests.providers.wire.strict import NAME, demand, filled, known_fields, tokens_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_BLOCKS: dict[str, Any] = {
    "text": TextBlockParam,
    "image": ImageBlockParam,
    "document": DocumentBlockParam,
    "thinking": ThinkingBlockParam,
    "redacted_thinking": RedactedThinkingBlockParam,
    "tool_use": ToolUseBlockParam,
    "tool_result": ToolResultBlockParam,
}
_MINE = {"user": {"text", "image", "document", "tool_result"}, "system": {"text"}}
_MODELS = {"text", "thinking", "redacted_thinking", "tool_use"}
# What this server knows of its models; the adapter has its own opinion.
_UNBOUND = {"claude-sonnet-4-6", "claude-opus-4-8", "claude-sonnet-4-5", "claude-sonnet-5"}
_SAMPLING = ("temperature", "top_p")  # older models only
_NO_SYSTEM = {"claude-sonnet-4-6", "claude-sonnet-4-5", "claude-sonnet-5"}


def check(body: dict[str, Any], *, official: bool = True) -> None:
    """Refuse what Anthropic refuses; servers that are not official know no system messages."""
    also = ("stream", *(_SAMPLING if body.get("model") in _UNBOUND else ()))
    known_fields(body, "request", MessageCreateParamsBase, also=also)
    demand(isinstance(body.get("max_tokens"), int), "max_tokens", "is required")
    for index, tool in enumerate(body.get("tools", [])):
        where = f"tools.{index}"
        known_fields(tool, where, ToolParam)
        demand(NAME.fullmatch(tool["name"]), where, "has a bad name")
        demand(tool["input_schema"].get("type") == "object", where, "wants a schema of an object")
    for block in body.get("system", []):
        known_fields(block, "system", TextBlockParam)
        filled(block["text"], "system")
    demand(body.get("messages"), "messages", "at least one message is required")
    for index, message in enumerate(body["messages"]):
        _check_message(message, f"messages.{index}")
    _check_roles(body, official=official)
    _check_pairs(body)
    _check_signatures(body)
    _check_thinking(body)
    marks = json.dumps(body).count('"cache_control"')
    demand(marks <= 4, "cache_control", f"a maximum of 4 marks is allowed, found {marks}")


def _check_message(message: Any, where: str) -> None:
    known_fields(message, where, also=("role", "content"))
    demand(message["content"], where, "all messages must have non-empty content")
    for number, block in enumerate(message["content"]):
        place = f"{where}.content.{number}"
        allowed = _MINE.get(message["role"], _MODELS)
        demand(block.get("type") in allowed, place, f"no {block.get('type')} by {message['role']}")
        known_fields(block, place, _BLOCKS[block["type"]])
        _check_block(block, place)


def _check_block(block: dict[str, Any], where: str) -> None:
    match block["type"]:
        case "text":
            filled(block["text"], where)
        case "tool_use":
            demand(_CALL_ID.fullmatch(block["id"]), where, "id has a bad form")
            demand(NAME.fullmatch(block["name"]), where, "name has a bad form")
            demand(isinstance(block["input"], dict), where, "input must be an object")
        case "tool_result":
            _check_result(block, where)
        case "thinking" | "redacted_thinking":
            demand("cache_control" not in block, where, "thoughts cannot be marked")
        case "image" | "document":
            source = block["source"]
            demand(source["type"] in ("base64", "url", "text", "file"), where, "bad source")
            kinds = {"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}
            demand(source["type"] != "base64" or source["media_type"] in kinds, where, "bad type")


def _check_result(block: dict[str, Any], where: str) -> None:
    content = block["content"]
    if isinstance(content, str):
        filled(content, where)
        return
    kinds = {inner["type"] for inner in content}
    demand(kinds <= {"text", "image", "document"}, where, "cannot hold that")
    demand(not block.get("is_error") or kinds == {"text"}, where, "errors are text only")
    for inner in content:
        known_fields(inner, where, _BLOCKS[inner["type"]])
        _check_block(inner, where)


def _check_roles(body: dict[str, Any], *, official: bool) -> None:
    roles = [message["role"] for message in body["messages"]]
    demand(roles[0] == "user", "messages.0", "the first message must use the user role")
    demand(roles[-1] != "assistant", "messages", "this model does not support prefill")
    for index, role in enumerate(roles):
        where = f"messages.{index}"
        if role == "system":
            takes = official and body["model"] not in _NO_SYSTEM
            demand(takes, where, "role 'system' is not supported on this model")
            demand(roles[index - 1] == "user", where, "role 'system' must follow a 'user' message")
            following = roles[index + 1 : index + 2]
            demand(following in ([], ["assistant"]), where, "'system' must precede 'assistant'")
        elif index:
            demand(role != roles[index - 1], where, "roles must alternate")


def _check_pairs(body: dict[str, Any]) -> None:
    """The message after calls begins with their results, each exactly once; ids are unique."""
    seen: set[str] = set()
    waiting: set[str] = set()
    for index, message in enumerate(body["messages"]):
        where = f"messages.{index}"
        answered: set[str] = set()
        others = False
        for block in message["content"]:
            if block["type"] == "tool_use":
                demand(body.get("tools"), where, "requests with tool_use must define tools")
                demand(block["id"] not in seen, where, "`tool_use` ids must be unique")
                seen.add(block["id"])
            elif block["type"] == "tool_result":
                demand(not others, where, "results must come first")
                demand(block["tool_use_id"] in waiting - answered, where, "unexpected tool_result")
                answered.add(block["tool_use_id"])
            else:
                others = True
        demand(answered == waiting, where, f"`tool_use` without results: {waiting - answered}")
        waiting = {b["id"] for b in message["content"] if b["type"] == "tool_use"}
    demand(not waiting, "messages", f"`tool_use` without results: {waiting}")


def _check_signatures(body: dict[str, Any]) -> None:
    """A thought must be one that this server signed, and on newer models at this very place."""
    for index, message in enumerate(body["messages"]):
        for number, block in enumerate(message["content"]):
            if "thinking" not in block["type"]:
                continue
            where = f"messages.{index}.content.{number}"
            sealed = block.get("signature") or block.get("data") or ""
            text = block.get("thinking", "")
            made, _, place = sealed.partition(".")
            genuine = made == _made(text)
            demand(genuine, where, f"Invalid `signature` in `{block['type']}` block")
            here = _place(body, index, message["content"][:number])
            bound = body["model"] not in _UNBOUND
            problem = f"Invalid `signature` in `{block['type']}` block. The block is bound to a"
            demand(not bound or place == here, where, f"{problem} different conversation.")


def _check_thinking(body: dict[str, Any]) -> None:
    """With a thinking budget, the message whose calls were just answered begins with a thought."""
    if body.get("thinking", {}).get("type") != "enabled":
        return
    results = any(b["type"] == "tool_result" for b in body["messages"][-1]["content"])
    models = [m for m in body["messages"] if m["role"] == "assistant"]
    good = not (results and models) or "thinking" in models[-1]["content"][0]["type"]
    demand(good, "messages", "Expected `thinking` or `redacted_thinking`, but found `tool_use`")


def _made(text: str) -> str:
    return sha256(f"made here|{text}".encode()).hexdigest()[:16]


def _place(body: dict[str, Any], index: int, before: list[dict[str, Any]]) -> str:
    """Return the digest of everything that stands before a block."""
    head = [body.get("system"), body.get("tools"), body["messages"][:index], before]
    return sha256(json.dumps(_unmarked(head)).encode()).hexdigest()[:16]


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [_unmarked(item) for item in value] if isinstance(value, list) else value


def events(answer: Answer, body: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """Yield the events of an answer."""
    spent = answer.spent or Spent(tokens_in(body))
    usage = {
        "input_tokens": spent.prompt - spent.read - spent.written,
        "cache_read_input_tokens": spent.read,
        "cache_creation_input_tokens": spent.written,
        "output_tokens": 1,
    }
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": []}
    start = {**message, "model": body["model"], "stop_reason": None, "usage": usage}
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    said: list[dict[str, Any]] = []
    for index, block in enumerate(answer.blocks):
        begun, deltas, whole = _block(block, number, index, body, said)
        said.append(whole)
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    calls = any(isinstance(block, CallTool) for block in answer.blocks)
    reason = answer.finish or ("tool_use" if calls else "end_turn")
    delta = {"stop_reason": reason, "stop_sequence": None}
    details = {"output_tokens_details": {"thinking_tokens": spent.thinking}}
    ended = {"output_tokens": spent.answer, **details}
    yield {"type": "message_delta", "delta": delta, "usage": ended}
    yield {"type": "message_stop"}


def _block(
    block: Any, number: int, index: int, body: dict[str, Any], said: list[dict[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """Return a block as it begins, its pieces, and the whole as it has to come back."""
    place = _place(body, len(body["messages"]), copy.deepcopy(said))
    match block:
        case Text():
            deltas = [{"type": "text_delta", "text": word} for word in _words(block.text)]
            return {"type": "text", "text": ""}, deltas, {"type": "text", "text": block.text}
        case Thought():
            signature = f"{_made(block.text)}.{place}"
            deltas = [{"type": "thinking_delta", "thinking": word} for word in _words(block.text)]
            deltas.append({"type": "signature_delta", "signature": signature})
            begun = {"type": "thinking", "thinking": "", "signature": ""}
            return begun, deltas, {**begun, "thinking": block.text, "signature": signature}
        case Redacted():
            whole = {"type": "redacted_thinking", "data": f"{_made('')}.{place}"}
            return whole, [], whole
        case CallTool():
            head = {"type": "tool_use", "id": block.id or f"toolu_{number}_{index}"}
            half = len(block.written) // 2
            pieces = ["", block.written[:half], block.written[half:]]
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
            whole = {**head, "name": block.name, "input": json.loads(block.written or "{}")}
            return {**head, "name": block.name, "input": {}}, deltas, whole
    raise AssertionError(block)


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)
