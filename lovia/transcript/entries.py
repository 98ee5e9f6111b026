"""What was said: the immutable entries of a transcript, and the parts they are made of.

Entries are values. They compare by content, may be shared between runs and threads, and are never
edited. Facts that are expensive to derive from one (its digest, its token counts) are remembered on
the entry itself, so they are computed once in its lifetime and vanish together with it.
"""

from __future__ import annotations

import base64
import copy
import mimetypes
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "AssistantTextEntry",
    "ContentPart",
    "FilePart",
    "ImagePart",
    "InputEntry",
    "Origin",
    "ReasoningEntry",
    "Role",
    "TextPart",
    "ToolCallEntry",
    "ToolResultEntry",
    "TranscriptEntry",
    "is_system",
    "memo",
    "remembered",
    "text_of",
]

Role = Literal["system", "developer", "user"]
Origin = Literal["conversation", "summary", "placeholder"]


class _Value:
    """Behaviour shared by entries and parts: copying an immutable value returns the value."""

    __slots__ = ()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> Any:
        return self


@dataclass(frozen=True, slots=True)
class TextPart(_Value):
    """A run of plain text."""

    text: str
    type: Literal["text"] = field(default="text", repr=False)


@dataclass(frozen=True, slots=True)
class ImagePart(_Value):
    """An image, by address or as base64 text.

    Attributes:
        url: Where the provider can fetch it.
        data: Base64 text of the bytes; ``mime_type`` goes with it.
        mime_type: Such as ``image/png``.
        detail: The resolution that the provider should use.
    """

    url: str | None = None
    data: str | None = None
    mime_type: str | None = None
    detail: Literal["auto", "low", "high"] | None = None
    type: Literal["image"] = field(default="image", repr=False)

    @classmethod
    def from_path(cls, path: str | Path, *, mime_type: str | None = None) -> ImagePart:
        """Read an image file and embed it."""
        return cls(data=_base64_of(path), mime_type=mime_type or _mime_of(path))


@dataclass(frozen=True, slots=True)
class FilePart(_Value):
    """A document, by address or as base64 text.

    Attributes:
        url: Where the provider can fetch it.
        data: Base64 text of the bytes; ``mime_type`` goes with it.
        mime_type: Such as ``application/pdf``.
        filename: The name to show.
    """

    url: str | None = None
    data: str | None = None
    mime_type: str | None = None
    filename: str | None = None
    type: Literal["file"] = field(default="file", repr=False)

    @classmethod
    def from_path(
        cls, path: str | Path, *, mime_type: str | None = None, filename: str | None = None
    ) -> FilePart:
        """Read a file and embed it."""
        name = filename or Path(path).name
        return cls(data=_base64_of(path), mime_type=mime_type or _mime_of(path), filename=name)

    @classmethod
    def from_bytes(cls, data: bytes, *, mime_type: str, filename: str | None = None) -> FilePart:
        """Embed bytes."""
        return cls(data=base64.b64encode(data).decode(), mime_type=mime_type, filename=filename)

    @classmethod
    def from_base64(cls, data: str, *, mime_type: str, filename: str | None = None) -> FilePart:
        """Embed bytes that are base64 text already."""
        return cls(data=data, mime_type=mime_type, filename=filename)

    @classmethod
    def from_url(
        cls, url: str, *, mime_type: str | None = None, filename: str | None = None
    ) -> FilePart:
        """Refer to an address that the provider can fetch."""
        return cls(url=url, mime_type=mime_type, filename=filename)


ContentPart: TypeAlias = TextPart | ImagePart | FilePart


@dataclass(frozen=True, slots=True, weakref_slot=True)
class InputEntry(_Value):
    """A message that did not come from the model.

    Attributes:
        role: ``system``, ``developer`` or ``user``.
        content: Text, or a sequence of parts (kept as a tuple).
        origin: ``conversation`` for what was really said; ``summary`` and ``placeholder`` for what
            compaction wrote.
    """

    role: Role
    content: str | tuple[ContentPart, ...]
    origin: Origin = "conversation"
    type: Literal["input"] = field(default="input", repr=False)
    _memo: dict[str, Any] | None = field(default=None, init=False, repr=False, compare=False)

    def __init__(
        self,
        role: Role,
        content: str | Sequence[ContentPart],
        origin: Origin = "conversation",
        type: Literal["input"] = "input",  # noqa: A002 - the discriminator's name in every saved form
    ) -> None:
        put = object.__setattr__
        put(self, "role", role)
        put(self, "content", content if isinstance(content, str) else tuple(content))
        put(self, "origin", origin)
        put(self, "type", type)
        put(self, "_memo", None)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class AssistantTextEntry(_Value):
    """Text that the model answered; ``id`` is the provider's, when it gives one."""

    content: str
    id: str | None = None
    type: Literal["assistant_text"] = field(default="assistant_text", repr=False)
    _memo: dict[str, Any] | None = field(default=None, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ReasoningEntry(_Value):
    """What the model thought before it answered or called a tool.

    An entry is kept or dropped whole: a provider refuses a thought whose text no longer fits its
    signature.

    Attributes:
        content: The readable text; may be empty when the provider hides it.
        id: The provider's id.
        provider: Who wrote it; only that provider may read ``signature`` and ``metadata``.
        signature: The provider's opaque text.
        metadata: Further opaque data, JSON-safe; kept as a read-only mapping.
    """

    content: str
    id: str | None = None
    provider: str | None = None
    signature: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    type: Literal["reasoning"] = field(default="reasoning", repr=False)
    _memo: dict[str, Any] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        frozen = MappingProxyType(copy.deepcopy(dict(self.metadata)))
        object.__setattr__(self, "metadata", frozen)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by value (a mapping proxy has no pickled form of its own)."""
        args = (self.content, self.id, self.provider, self.signature, dict(self.metadata))
        return (ReasoningEntry, args)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ToolCallEntry(_Value):
    """A call that the model asked for.

    Attributes:
        call_id: The model's id for it. Real models reuse ids, so an id alone identifies nothing.
        name: The tool's name.
        arguments: The JSON text exactly as the model wrote it; may be no JSON at all.
    """

    call_id: str
    name: str
    arguments: str
    type: Literal["tool_call"] = field(default="tool_call", repr=False)
    _memo: dict[str, Any] | None = field(default=None, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ToolResultEntry(_Value):
    """What a tool answered, as the model reads it.

    Attributes:
        call_id: The id of the call that it answers.
        output: The rendered text.
        is_error: Whether the tool failed.
        parts: Rich content beside the text (kept as a tuple).
        origin: As for :class:`InputEntry`.
    """

    call_id: str
    output: str
    is_error: bool = False
    parts: tuple[ContentPart, ...] = ()
    origin: Origin = "conversation"
    type: Literal["tool_result"] = field(default="tool_result", repr=False)
    _memo: dict[str, Any] | None = field(default=None, init=False, repr=False, compare=False)

    def __init__(
        self,
        call_id: str,
        output: str,
        is_error: bool = False,  # noqa: FBT001, FBT002 - a field of the value
        parts: Sequence[ContentPart] | None = (),
        origin: Origin = "conversation",
        type: Literal["tool_result"] = "tool_result",  # noqa: A002 - the discriminator's name in every saved form
    ) -> None:
        put = object.__setattr__
        put(self, "call_id", call_id)
        put(self, "output", output)
        put(self, "is_error", is_error)
        put(self, "parts", tuple(parts or ()))
        put(self, "origin", origin)
        put(self, "type", type)
        put(self, "_memo", None)


TranscriptEntry: TypeAlias = (
    InputEntry | AssistantTextEntry | ReasoningEntry | ToolCallEntry | ToolResultEntry
)


def memo(entry: TranscriptEntry) -> dict[str, Any]:
    """Return the entry's own cache of derived facts, keyed by who derived them.

    The cache takes no part in comparison, hashing, copying or saving.
    """
    cache = entry._memo  # noqa: SLF001 - the accessor of that field
    if cache is None:
        cache = {}
        object.__setattr__(entry, "_memo", cache)
    return cache


def remembered(entry: TranscriptEntry, key: str) -> Any:
    """Return a derived fact that is in the entry's cache, or ``None``; makes no cache."""
    cache = entry._memo  # noqa: SLF001 - the accessor of that field
    return None if cache is None else cache.get(key)


def is_system(entry: TranscriptEntry) -> bool:
    """Tell whether the entry is a system or developer message."""
    return type(entry) is InputEntry and entry.role != "user"


def text_of(entry: TranscriptEntry) -> str:
    """Return all readable text of an entry; parts that hold no text are named by their kind."""
    match entry:
        case InputEntry(content=str() as text):
            return text
        case InputEntry(content=parts):
            return "\n".join(map(_part_text, parts))  # type: ignore[arg-type] # narrowed by the case above
        case ToolCallEntry():
            return f"{entry.name} {entry.arguments}"
        case ToolResultEntry():
            texts = [entry.output, *map(_part_text, entry.parts)]
            return "\n".join(text for text in texts if text)
        case _:
            return entry.content


def _part_text(part: ContentPart) -> str:
    match part:
        case TextPart():
            return part.text
        case ImagePart():
            return f"[image {part.mime_type or ''}]".replace(" ]", "]")
        case FilePart():
            return f"[file {part.filename or part.mime_type or ''}]".replace(" ]", "]")


def _base64_of(path: str | Path) -> str:
    return base64.b64encode(Path(path).read_bytes()).decode()


def _mime_of(path: str | Path) -> str:
    return mimetypes.guess_type(str(path))[0] or "application/octet-stream"
