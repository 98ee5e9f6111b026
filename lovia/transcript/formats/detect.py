"""The formats that can be read, and which of them a document is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lovia.transcript.formats import (
    anthropic,
    claude_code,
    codex,
    langchain,
    lovia_jsonl,
    openai_chat,
    openai_responses,
    pi,
    trajectories,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lovia.transcript.formats.document import Document, Reading

__all__ = ["Format", "detect", "format_names", "named"]


@dataclass(frozen=True, slots=True)
class Format:
    """A format that can be read.

    Attributes:
        name: What a caller writes to name it.
        title: What it is, for people.
        recognises: Whether a document is in it, judged by content alone.
        read: Reads a document into a :class:`Reading`.
    """

    name: str
    title: str
    recognises: Callable[[Document], bool]
    read: Callable[[Document, Reading], None]


_FORMATS: Final = (
    Format("lovia", "lovia entries", lovia_jsonl.recognises, lovia_jsonl.read),
    Format("pi", "pi session log", pi.recognises, pi.read),
    Format("claude-code", "Claude Code session log", claude_code.recognises, claude_code.read),
    Format("codex", "Codex CLI session log", codex.recognises, codex.read),
    Format(
        "swe-agent",
        "SWE-agent trajectory",
        trajectories.recognises_swe_agent,
        trajectories.read_swe_agent,
    ),
    Format(
        "tau-bench",
        "tau-bench run",
        trajectories.recognises_tau_bench,
        trajectories.read_tau_bench,
    ),
    Format("langchain", "LangChain messages", langchain.recognises, langchain.read),
    Format("anthropic", "Anthropic Messages", anthropic.recognises, anthropic.read),
    Format(
        "openai-responses",
        "OpenAI Responses items",
        openai_responses.recognises,
        openai_responses.read,
    ),
    Format("openai-chat", "OpenAI Chat messages", openai_chat.recognises, openai_chat.read),
)


def format_names() -> tuple[str, ...]:
    """Return the names of all formats that can be read."""
    return tuple(format.name for format in _FORMATS)


def named(name: str) -> Format | None:
    """Return the format of that name (an underscore will do for a hyphen), or ``None``."""
    wanted = name.replace("_", "-")
    return next((format for format in _FORMATS if format.name == wanted), None)


def detect(document: Document) -> Format | None:
    """Return the first format that recognises the document, or ``None``."""
    return next((format for format in _FORMATS if format.recognises(document)), None)
