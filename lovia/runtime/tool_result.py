"""What a tool returned, as the transcript keeps it and the model reads it."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import to_json

from lovia.transcript.entries import FilePart, ImagePart, TextPart, ToolResultEntry, text_of

if TYPE_CHECKING:
    from lovia.runtime.run_context import RunContext
    from lovia.tools import Tool, ToolResultRenderer
    from lovia.transcript.entries import ContentPart, ToolCallEntry

__all__ = ["ToolOutcome", "capped", "error_text", "interrupted", "render"]

_PARTS: Final = (TextPart, ImagePart, FilePart)
_MARKER: Final = "\n[... {left_out} characters left out ...]\n"
_INTERRUPTED: Final = "Tool error: interrupted before it returned; it may have had an effect."
_LEFT_RUNNING: Final = " It runs in a thread, which cannot be stopped and may still be at work."


@dataclass(frozen=True)
class ToolOutcome:
    """How one call ended.

    Attributes:
        value: What the tool returned, or the error text.
        entry: The result as the transcript keeps it.
        error: What was raised, or ``None``.
        truncated: Whether the result was cut to the cap.
    """

    value: Any
    entry: ToolResultEntry
    error: BaseException | None = None
    truncated: bool = False

    @classmethod
    def failed(cls, call_id: str, error: BaseException, *, cap: int | None = None) -> ToolOutcome:
        """Describe a failure in a way that helps the model to go on."""
        text = error_text(error)
        shown = capped(text, cap)
        entry = ToolResultEntry(call_id, shown, is_error=True)
        return cls(shown, entry, error, truncated=shown is not text)

    @classmethod
    def refused(cls, call_id: str, text: str) -> ToolOutcome:
        """Describe a call that was not run."""
        return cls(text, ToolResultEntry(call_id, text, is_error=True))


def error_text(error: BaseException) -> str:
    """Return what the model reads about a failure."""
    return f"Tool error: {str(error).strip() or type(error).__name__}"


def interrupted(call: ToolCallEntry, tool: Tool | None = None) -> ToolResultEntry:
    """Return the result of a call that had begun and was not let finish.

    Args:
        call: The call.
        tool: What it ran, in this process; ``None`` when it was another process, which is gone.
    """
    text = _INTERRUPTED + (_LEFT_RUNNING if tool is not None and tool.in_thread else "")
    return ToolResultEntry(call.call_id, text, is_error=True)


async def render(
    call_id: str,
    value: Any,
    *,
    renderer: ToolResultRenderer | None,
    ctx: RunContext[Any],
    cap: int | None,
) -> ToolOutcome:
    """Turn what a tool returned into its outcome.

    Text stays as it is; parts (one, or a list of parts and texts) become parts; everything else
    becomes JSON, or its ``str`` where JSON has no more to say.
    """
    parts = () if renderer is not None else _parts_of(value)
    text = "" if parts else await _text_of(value, renderer, ctx)
    shown, shown_parts = capped(text, cap), _capped_parts(parts, cap)
    truncated = shown is not text or shown_parts != parts
    entry = ToolResultEntry(call_id, shown, parts=shown_parts)
    # A value whose text had to be cut is too large to be kept alive by events.
    return ToolOutcome(text_of(entry) if truncated else value, entry, truncated=truncated)


def capped(text: str, cap: int | None) -> str:
    """Return the text, or its head and tail with a marker between, at most ``cap`` characters."""
    if cap is None or len(text) <= cap:
        return text
    marker = _MARKER.format(left_out=len(text) - cap)
    room = max(cap - len(marker), 0)
    tail = room // 3
    return text[: room - tail] + marker[: cap - room] + text[len(text) - tail :]


def _parts_of(value: Any) -> tuple[ContentPart, ...]:
    items = value if isinstance(value, (list, tuple)) else (value,)
    is_rich = any(isinstance(item, _PARTS) for item in items)
    if is_rich and all(isinstance(item, (str, *_PARTS)) for item in items):
        return tuple(TextPart(item) if isinstance(item, str) else item for item in items)
    return ()


def _capped_parts(parts: tuple[ContentPart, ...], cap: int | None) -> tuple[ContentPart, ...]:
    """Return parts whose texts together are at most ``cap`` characters."""
    if cap is None:
        return parts
    left, shown = cap, []
    for part in parts:
        kept = TextPart(capped(part.text, left)) if isinstance(part, TextPart) else part
        left -= len(kept.text) if isinstance(kept, TextPart) else 0
        shown.append(kept)
    return tuple(shown)


async def _text_of(value: Any, renderer: ToolResultRenderer | None, ctx: RunContext[Any]) -> str:
    if renderer is not None:
        rendered = renderer(value, ctx)
        return str(await rendered if inspect.isawaitable(rendered) else rendered)
    if isinstance(value, str):
        return value
    try:
        plain = json.loads(to_json(value, fallback=str))
    except (TypeError, ValueError, RecursionError):
        return str(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
