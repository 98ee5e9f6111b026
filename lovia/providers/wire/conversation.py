"""The entries of a request as messages that keep the rules which all vendors share.

Roles alternate, the first message and the last one are not the model's, each call has exactly one
result right behind the message that holds it, nothing is empty, and all text encodes. What only one
vendor wants, that vendor's own module does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from lovia.transcript.entries import (
    AssistantTextEntry,
    ContentPart,
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
    text_of,
)
from lovia.transcript.pairing import NO_RESULT, Pairing, leading_block
from lovia.transcript.text import clean_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lovia.providers.wire.names import CallIds

__all__ = [
    "Call",
    "Conversation",
    "InputMessage",
    "Instruction",
    "ModelMessage",
    "as_content",
    "conversation_of",
]

#: Stands for the output of a tool that returned nothing.
NO_OUTPUT: Final = "(no output)"

_EMPTY: Final = TextPart("(empty message)")
_BEFORE: Final = TextPart("[Earlier messages are not shown.]")
_GO_ON: Final = TextPart("Continue.")
_UNASKED: Final = "[Result of a call that is not shown]"
_MARK: Final = "[System message]"


@dataclass(frozen=True, slots=True)
class Instruction:
    """A system or developer message that stands after the conversation has begun."""

    role: Literal["system", "developer"]
    text: str

    def as_part(self) -> TextPart:
        """Return it as marked text of a user, for vendors that take no such message."""
        return TextPart(f"{_MARK}\n\n{self.text}")


@dataclass(frozen=True, slots=True)
class InputMessage:
    """What came from outside the model between two of its messages; never empty."""

    parts: tuple[ContentPart | Instruction, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A call with the result that goes right behind its message.

    Attributes:
        id: Its id on the wire, of which there is no second one in the request.
        entry: The call.
        output: The text of its result; never blank.
        is_error: Whether the tool failed.
        parts: Images and files of the result.
    """

    id: str
    entry: ToolCallEntry
    output: str
    is_error: bool
    parts: tuple[ContentPart, ...]


ModelItem: TypeAlias = ReasoningEntry | AssistantTextEntry | Call


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """What the model said at a time: at least one text or call, and no thought behind the last."""

    items: tuple[ModelItem, ...]

    @property
    def calls(self) -> list[Call]:
        """Its calls, in order."""
        return [item for item in self.items if isinstance(item, Call)]

    @property
    def texts(self) -> list[str]:
        """Its texts, in order."""
        return [item.content for item in self.items if isinstance(item, AssistantTextEntry)]

    @property
    def thoughts(self) -> list[ReasoningEntry]:
        """Its thoughts, in order."""
        return [item for item in self.items if isinstance(item, ReasoningEntry)]


Message: TypeAlias = InputMessage | ModelMessage


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request's entries as messages.

    Attributes:
        system: The texts of the leading system and developer messages.
        messages: The rest.
    """

    system: tuple[str, ...]
    messages: tuple[Message, ...]


def conversation_of(
    entries: Sequence[TranscriptEntry],
    *,
    ids: CallIds,
    owns: Callable[[ReasoningEntry], bool],
) -> Conversation:
    """Arrange entries as messages.

    Args:
        entries: The whole request; the leading system messages first.
        ids: Names the calls.
        owns: Tells whether the model that is asked can make use of a thought; others are left out.
    """
    cleaned = [clean_entry(entry) for entry in entries]
    start = leading_block(cleaned)
    system = tuple(text for entry in cleaned[:start] if (text := text_of(entry)).strip())
    return Conversation(system, _messages(cleaned, start, ids, owns))


def as_content(message: InputMessage) -> list[ContentPart]:
    """Return the parts of a message, instructions as marked text."""
    return [part.as_part() if isinstance(part, Instruction) else part for part in message.parts]


def _messages(
    entries: Sequence[TranscriptEntry],
    start: int,
    ids: CallIds,
    owns: Callable[[ReasoningEntry], bool],
) -> tuple[Message, ...]:
    """Give each entry to its speaker; results go to their calls, wherever they stood."""
    pairing = Pairing(entries)
    arranger = _Arranger()
    for index in range(start, len(entries)):
        entry, partner = entries[index], pairing.partner[index]
        match entry:
            case ToolResultEntry() if partner >= 0:
                arranger.close_batch()
            case ToolResultEntry():
                arranger.hear([TextPart(f"{_UNASKED}\n\n{entry.output}"), *entry.parts])
            case InputEntry():
                arranger.hear(_heard(entry))
            case ToolCallEntry():
                arranger.say(_call(entry, entries[partner] if partner >= 0 else None, ids))
            case ReasoningEntry() if owns(entry):
                arranger.say(entry)
            case AssistantTextEntry() if entry.content.strip():
                arranger.say(entry)
    return arranger.finish()


class _Arranger:
    """Collects what is heard and what the model says into messages that alternate."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._heard: list[ContentPart | Instruction] = []
        self._said: list[ModelItem] = []

    def hear(self, parts: Iterable[ContentPart | Instruction]) -> None:
        """Take in what came from outside; it ends what the model says."""
        self._end_turn()
        self._heard.extend(parts)

    def say(self, item: ModelItem) -> None:
        """Take in what the model says; it ends what is heard."""
        self._end_input()
        self._said.append(item)

    def close_batch(self) -> None:
        """Take note of a result: what the model says next is another message."""
        if any(isinstance(item, Call) for item in self._said):
            self._end_turn()

    def finish(self) -> tuple[Message, ...]:
        """Return the messages; they begin and end with one to the model, or with results."""
        self._end_turn()
        self._end_input()
        messages = [_not_blank(message) for message in self._messages]
        if messages and isinstance(messages[0], ModelMessage):
            messages.insert(0, InputMessage((_BEFORE,)))
        last = messages[-1] if messages else None
        if last is None or (isinstance(last, ModelMessage) and not last.calls):
            messages.append(InputMessage((_GO_ON,)))
        return tuple(messages)

    def _end_turn(self) -> None:
        """Add what the model said, but for thoughts that led to nothing."""
        said, self._said = self._said, []
        while said and isinstance(said[-1], ReasoningEntry):
            said.pop()
        last = self._messages[-1] if self._messages else None
        if said and isinstance(last, ModelMessage) and not last.calls:
            self._messages[-1] = ModelMessage((*last.items, *said))
        elif said:
            self._messages.append(ModelMessage(tuple(said)))

    def _end_input(self) -> None:
        heard, self._heard = self._heard, []
        last = self._messages[-1] if self._messages else None
        if heard and isinstance(last, InputMessage):
            self._messages[-1] = InputMessage((*last.parts, *heard))
        elif heard:
            self._messages.append(InputMessage(tuple(heard)))


def _heard(entry: InputEntry) -> Sequence[ContentPart | Instruction]:
    if entry.role != "user":
        return [Instruction(entry.role, text_of(entry))]
    return [TextPart(entry.content)] if isinstance(entry.content, str) else entry.content


def _call(entry: ToolCallEntry, answer: TranscriptEntry | None, ids: CallIds) -> Call:
    wire_id = ids.take(entry.call_id)
    if not isinstance(answer, ToolResultEntry):
        return Call(wire_id, entry, NO_RESULT, is_error=True, parts=())
    texts = [answer.output, *(part.text for part in answer.parts if isinstance(part, TextPart))]
    output = "\n".join(text for text in texts if text.strip()) or NO_OUTPUT
    media = tuple(part for part in answer.parts if not isinstance(part, TextPart))
    return Call(wire_id, entry, output, answer.is_error, media)


def _not_blank(message: Message) -> Message:
    """Take blank texts out of what was heard, and say so where nothing else is left."""
    if isinstance(message, ModelMessage):
        return message
    parts = tuple(part for part in message.parts if getattr(part, "text", "text").strip())
    return InputMessage(parts or (_EMPTY,))
