"""What a caller asked for in one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict
from uuid import uuid4

from lovia.cancellation import CancelToken
from lovia.errors import UserError
from lovia.runtime.steering import Mailbox
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
)
from lovia.transcript.messages import Message, messages_to_entries

if TYPE_CHECKING:
    from lovia.retry import RetryPolicy
    from lovia.runtime.agent import Agent, InstructionsFn
    from lovia.runtime.checkpoint import CheckpointOptions
    from lovia.stores import Session
    from lovia.usage import RunBudget

__all__ = ["RunInput", "RunKeywords", "RunOptions", "input_entries"]

#: What a run may start with: text, parts of one message, messages, or entries.
RunInput: TypeAlias = (
    str
    | ContentPart
    | Message
    | TranscriptEntry
    | Sequence[ContentPart]
    | Sequence[Message | TranscriptEntry]
)

_PARTS = (TextPart, ImagePart, FilePart)
_ENTRIES = (
    InputEntry,
    AssistantTextEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    Message,
)


@dataclass(frozen=True)
class RunOptions:
    """The arguments of one ``Runner`` call."""

    agent: Agent[Any]
    input: Any
    deps: Any = None
    extra_instructions: str | InstructionsFn | None = None
    max_turns: int = 50
    budget: RunBudget | None = None
    cancel_token: CancelToken = field(default_factory=CancelToken)
    retry: RetryPolicy | None = None
    context_policy: Any = None
    output_type: Any = None
    mailbox: Mailbox = field(default_factory=Mailbox)
    session: Session | None = None
    session_id: str | None = None
    checkpoint: CheckpointOptions | None = None
    run_id: str = field(default_factory=lambda: uuid4().hex)

    @property
    def is_saved(self) -> bool:
        """Whether the run has a checkpointer."""
        return self.checkpoint is not None and self.checkpoint.checkpointer is not None


class RunKeywords(TypedDict, total=False):
    """The keyword arguments of a ``Runner`` call; :meth:`lovia.Runner.stream` explains them."""

    deps: Any
    output_type: Any
    extra_instructions: str | InstructionsFn | None
    max_turns: int
    budget: RunBudget | None
    cancel_token: CancelToken | None
    mailbox: Mailbox | None
    retry: RetryPolicy | None
    context_policy: Any
    session: Session | None
    session_id: str | None
    checkpoint: CheckpointOptions | None


def input_entries(value: Any) -> list[TranscriptEntry]:
    """Return a run's input as transcript entries.

    Raises:
        UserError: It is none of the accepted shapes; the message names the offending item.
    """
    if isinstance(value, str):
        return [InputEntry("user", value)]
    items = [value] if isinstance(value, (*_PARTS, *_ENTRIES)) else value
    if isinstance(items, (list, tuple)) and items:
        if all(isinstance(item, _PARTS) for item in items):
            return [InputEntry("user", items)]
        if all(isinstance(item, _ENTRIES) for item in items):
            return [entry for item in items for entry in _entries_of(item)]
    raise UserError(
        f"A run cannot start with {_describe(value)}.",
        hint="Pass a text, a list of parts (one message), or a list of messages or entries.",
    )


def _entries_of(item: Message | TranscriptEntry) -> list[TranscriptEntry]:
    return messages_to_entries([item]) if isinstance(item, Message) else [item]


def _describe(value: Any) -> str:
    if not isinstance(value, (list, tuple)):
        return f"a {type(value).__name__}"
    if not value:
        return "an empty list"
    odd = next((i for i, item in enumerate(value) if not isinstance(item, (*_PARTS, *_ENTRIES))), 0)
    return f"a list whose item {odd} is a {type(value[odd]).__name__} beside other kinds"
