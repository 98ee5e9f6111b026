"""A conversation as chat messages: a short way to write one, and a plain way to look at one.

Messages are the portable part of a transcript. They lose what chat messages have no place for: ids
and signatures of thoughts, and whether a tool failed. Runs, sessions and policies keep entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias

from lovia.errors import UserError
from lovia.transcript.entries import (
    AssistantTextEntry,
    ContentPart,
    FilePart,
    ImagePart,
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "Message",
    "ToolCall",
    "assistant",
    "entries_to_messages",
    "messages_to_entries",
    "system",
    "user",
]

MessageRole: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]


@dataclass(frozen=True)
class ToolCall:
    """A call as messages and events show it: id, tool name, the JSON text of its arguments."""

    id: str
    name: str
    arguments: str

    @classmethod
    def of(cls, entry: ToolCallEntry) -> ToolCall:
        """Describe a call entry."""
        return cls(id=entry.call_id, name=entry.name, arguments=entry.arguments)


@dataclass(frozen=True)
class Message:
    """One chat message.

    Attributes:
        role: Who speaks.
        content: Its text, or its parts (kept as a tuple); ``None`` when there are only calls.
        reasoning: What the assistant thought.
        tool_calls: What the assistant asked for (kept as a tuple).
        tool_call_id: The call that a tool message answers.
        name: Whoever spoke, where a vendor names them.
    """

    role: MessageRole
    content: str | Sequence[ContentPart] | None = None
    reasoning: str | None = None
    tool_calls: Sequence[ToolCall] = ()
    tool_call_id: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if self.content is not None and not isinstance(self.content, str):
            object.__setattr__(self, "content", tuple(self.content))
        object.__setattr__(self, "tool_calls", tuple(self.tool_calls))

    @property
    def text(self) -> str:
        """The readable text; parts without text are named by their kind."""
        return text_of(InputEntry("user", self.content or ""))


def user(content: str | ContentPart | Sequence[ContentPart]) -> Message:
    """Return a user message: text, one part, or several."""
    single = isinstance(content, (TextPart, ImagePart, FilePart))
    return Message("user", (content,) if single else content)  # type: ignore[arg-type] # by the test


def system(text: str) -> Message:
    """Return a system message."""
    return Message("system", text)


def assistant(text: str) -> Message:
    """Return a message as the model would have answered it."""
    return Message("assistant", text)


def entries_to_messages(entries: Iterable[TranscriptEntry]) -> list[Message]:
    """Return entries as messages; what the model says until somebody else speaks is one message."""
    messages: list[Message] = []
    for spoken, group in groupby(entries, key=_is_spoken):
        if spoken:
            messages.append(_assistant_message(list(group)))
        else:
            messages.extend(map(_other_message, group))
    return messages


def messages_to_entries(messages: Iterable[Message]) -> list[TranscriptEntry]:
    """Return messages as entries: a thought, then text, then calls.

    Raises:
        UserError: A message has a role that there is not.
    """
    return [entry for message in messages for entry in _entries_of(message)]


def _is_spoken(entry: TranscriptEntry) -> bool:
    return isinstance(entry, (AssistantTextEntry, ReasoningEntry, ToolCallEntry))


def _assistant_message(entries: list[TranscriptEntry]) -> Message:
    texts = [entry.content for entry in entries if isinstance(entry, AssistantTextEntry)]
    thoughts = [entry.content for entry in entries if isinstance(entry, ReasoningEntry)]
    return Message(
        "assistant",
        "".join(texts) if texts else None,
        "".join(thoughts) if thoughts else None,
        [ToolCall.of(entry) for entry in entries if isinstance(entry, ToolCallEntry)],
    )


def _other_message(entry: TranscriptEntry) -> Message:
    if isinstance(entry, ToolResultEntry):
        return Message("tool", text_of(entry), tool_call_id=entry.call_id)
    assert isinstance(entry, InputEntry)  # noqa: S101 - the model's own entries are grouped before
    return Message(entry.role, entry.content)


def _entries_of(message: Message) -> list[TranscriptEntry]:
    role: str = message.role
    if role == "assistant":
        return _spoken_entries(message)
    if role == "tool":
        return [_result_of(message)]
    if message.role not in ("system", "developer", "user"):
        hint = "A role is system, developer, user, assistant or tool."
        raise UserError(f"A message has the role {role!r}.", hint=hint)
    return [InputEntry(message.role, "" if message.content is None else message.content)]


def _spoken_entries(message: Message) -> list[TranscriptEntry]:
    entries: list[TranscriptEntry] = []
    if message.reasoning:
        entries.append(ReasoningEntry(message.reasoning))
    if message.text:
        entries.append(AssistantTextEntry(message.text))
    return entries + [ToolCallEntry(c.id, c.name, c.arguments) for c in message.tool_calls]


def _result_of(message: Message) -> ToolResultEntry:
    call_id, content = message.tool_call_id or "", message.content or ""
    if isinstance(content, str):
        return ToolResultEntry(call_id, content)
    return ToolResultEntry(call_id, "", parts=content)
