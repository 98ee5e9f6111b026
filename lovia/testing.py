"""A model that follows a script: deterministic, offline, free.

::

    provider = ScriptedProvider([call("search", {"q": "tides"}), text("Done.")])
    agent = Agent(name="bot", model=provider, tools=[search])
"""

from __future__ import annotations

import inspect
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import anyio.lowlevel

from lovia.errors import ContextOverflowError, UserError
from lovia.transcript.deltas import (
    EntryCompletedDelta,
    FinishDelta,
    ModelDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from lovia.transcript.entries import (
    AssistantTextEntry,
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    TranscriptEntry,
)
from lovia.transcript.messages import ToolCall, entries_to_messages
from lovia.usage import Usage

if TYPE_CHECKING:
    from lovia.providers.base import ModelSettings
    from lovia.tokens.counter import TokenCounter
    from lovia.transcript.messages import Message

__all__ = [
    "AssistantTurn",
    "ScriptedProvider",
    "ScriptedRequest",
    "batch",
    "broken",
    "call",
    "text",
]

_WORDS: Final = re.compile(r"\S+\s*|\s+")  # what the model streams at a time
_FIXED_USAGE: Final = Usage(input_tokens=1, output_tokens=1)


@dataclass(frozen=True)
class AssistantTurn:
    """One scripted answer.

    Attributes:
        content: Its text.
        tool_calls: The calls it asks for.
        reasoning: What it thought before.
        usage: What the call reports, before it breaks if it does; ``None`` leaves that to the
            provider.
        finish_reason: Why it ended; ``tool_calls`` or ``stop`` by default.
        error: Raised after everything else was streamed, as by a connection that breaks.
    """

    content: str | None = None
    tool_calls: Sequence[ToolCall] = ()
    reasoning: str | None = None
    usage: Usage | None = None
    finish_reason: str | None = None
    error: BaseException | None = None


@dataclass(frozen=True)
class ScriptedRequest:
    """What one model call was sent.

    Attributes:
        entries: The whole request, the system prompt first.
        tools: The tools' schemas.
        response_format: The schema that the answer should fit.
        settings: Sampling settings.
        is_summary: Whether compaction asked for a summary.
        tokens: The request's size by the provider's counter.
    """

    entries: list[TranscriptEntry]
    tools: Sequence[Mapping[str, Any]]
    response_format: Mapping[str, Any] | None
    settings: ModelSettings | None
    is_summary: bool
    tokens: int


#: One answer, or an error to raise instead.
Scripted: TypeAlias = AssistantTurn | BaseException | type[BaseException]
#: Decides on the answer when it knows the request.
Responder: TypeAlias = Callable[[ScriptedRequest], "Scripted | str | Awaitable[Scripted | str]"]
#: Tells what a call reports as spent.
UsageOf: TypeAlias = Callable[[ScriptedRequest, AssistantTurn], "Usage | None"]


def text(content: str, *, reasoning: str | None = None) -> AssistantTurn:
    """Return a turn that answers with text."""
    return AssistantTurn(content, reasoning=reasoning)


def call(
    name: str, args: Mapping[str, Any] | str | None = None, *, call_id: str | None = None
) -> AssistantTurn:
    """Return a turn that asks for one tool call; ``args`` as text is sent as it is."""
    return AssistantTurn(tool_calls=(_tool_call(name, args, call_id or f"call_{name}"),))


def batch(*specs: tuple[Any, ...]) -> AssistantTurn:
    """Return a turn that asks for several calls: ``(name, args)`` or ``(name, args, call_id)``."""
    calls = []
    for index, (name, args, *rest) in enumerate(specs):
        calls.append(_tool_call(name, args, rest[0] if rest else f"call_{index}_{name}"))
    return AssistantTurn(tool_calls=tuple(calls))


def broken(turn: AssistantTurn, error: BaseException) -> AssistantTurn:
    """Return a turn whose stream breaks with ``error`` when all of it was sent."""
    return replace(turn, error=error)


class ScriptedProvider:
    """A provider that answers from a script, one item for each request.

    An item is a turn (:func:`text`, :func:`call`, :func:`batch`), an error to raise, or a function
    of the :class:`ScriptedRequest` that returns one of these. One provider belongs to one run, as
    the script is used up.

    Args:
        script: The items, in order.
        name: The provider's short name.
        model: The model's name.
        window: Context window in tokens; a larger request is refused with
            ``ContextOverflowError(reported_window=window)``. ``None`` takes everything.
        usage: What calls report as spent: one :class:`Usage` for each (1 and 1 tokens by default),
            ``"counted"`` for sizes by ``counter``, a function, or ``None`` for no report.
        summarize: Answers summary requests, which then take nothing from the script; a text or a
            function of the request.
        is_summary: Recognises a summary request; by default the ones of ``LLMSummarizer``.
        counter: Counts tokens; by default the estimator that needs no vocabulary.
        supports_json_schema: Whether a requested output type comes as a response format, and not
            in the instructions.

    Attributes:
        requests: What was sent, refused requests included.
    """

    def __init__(  # noqa: PLR0913 - each is a trait of the model that is played
        self,
        script: Iterable[Scripted | Responder],
        *,
        name: str = "scripted",
        model: str | None = "scripted",
        window: int | None = None,
        usage: Usage | Literal["counted"] | UsageOf | None = _FIXED_USAGE,
        summarize: str | Responder | None = None,
        is_summary: Callable[[Sequence[TranscriptEntry]], bool] | None = None,
        counter: TokenCounter | None = None,
        supports_json_schema: bool = False,
    ) -> None:
        self.name = name
        self.model = model
        self.supports_json_schema = supports_json_schema
        self.requests: list[ScriptedRequest] = []
        self._script = deque(script)
        self._length = len(self._script)
        self._window = window
        self._usage = usage
        self._summarize = summarize
        self._is_summary = is_summary or _looks_like_summary_request
        self._counter = counter or _default_counter()

    @property
    def calls(self) -> list[list[Message]]:
        """Each request as chat messages, the system prompt first."""
        return [entries_to_messages(request.entries) for request in self.requests]

    def context_window(self) -> int | None:
        """Return the context window in tokens, or ``None``."""
        return self._window

    def stream(
        self,
        entries: list[TranscriptEntry],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        response_format: Mapping[str, Any] | None = None,
        settings: ModelSettings | None = None,
    ) -> AsyncIterator[ModelDelta]:
        """Answer the next item of the script.

        Raises:
            ContextOverflowError: The request is larger than the window.
            UserError: The script is used up.
        """
        overhead = self._counter.overhead(tools=tools or (), response_format=response_format)
        request = ScriptedRequest(
            entries=list(entries),
            tools=tuple(tools or ()),
            response_format=response_format,
            settings=settings,
            is_summary=self._is_summary(entries),
            tokens=self._counter.entries(entries) + overhead,
        )
        self.requests.append(request)
        return self._answer(request)

    async def _answer(self, request: ScriptedRequest) -> AsyncIterator[ModelDelta]:
        await anyio.lowlevel.checkpoint()
        if self._window is not None and request.tokens > self._window:
            message = f"The request has {request.tokens} tokens; the window has {self._window}."
            raise ContextOverflowError(message, reported_window=self._window, status_code=400)
        turn = await self._next_turn(request)
        for delta in _deltas(turn, self.name):
            yield delta
        if turn.error is not None:
            if turn.usage is not None:
                yield UsageDelta(turn.usage.clone())
            raise turn.error
        usage = turn.usage or self._usage_of(request, turn)
        if usage is not None:
            yield UsageDelta(usage.clone())
        yield FinishDelta(turn.finish_reason or ("tool_calls" if turn.tool_calls else "stop"))

    async def _next_turn(self, request: ScriptedRequest) -> AssistantTurn:
        item: Any
        if request.is_summary and self._summarize is not None:
            item = self._summarize
        elif self._script:
            item = self._script.popleft()
        else:
            message = f"The script is used up: it has {self._length} turns, and another was asked."
            hint = "Script a turn for each model call, the final answer included."
            raise UserError(message, hint=hint)
        is_error = isinstance(item, type) and issubclass(item, BaseException)
        if callable(item) and not is_error:
            item = item(request)
            item = await item if inspect.isawaitable(item) else item
        if isinstance(item, str):
            item = text(item)
        if isinstance(item, AssistantTurn):
            return item
        if isinstance(item, BaseException) or is_error:
            raise item
        message = f"{item!r} is no turn of a script."
        raise UserError(message, hint="Use text(), call(), batch(), an error or a function.")

    def _usage_of(self, request: ScriptedRequest, turn: AssistantTurn) -> Usage | None:
        if self._usage is None or isinstance(self._usage, Usage):
            return self._usage
        if self._usage != "counted":
            return self._usage(request, turn)
        answer = [delta.entry for delta in _entries(turn, self.name)]
        return Usage(input_tokens=request.tokens, output_tokens=self._counter.entries(answer))


def _tool_call(name: str, args: Mapping[str, Any] | str | None, call_id: str) -> ToolCall:
    return ToolCall(call_id, name, args if isinstance(args, str) else json.dumps(args or {}))


def _deltas(turn: AssistantTurn, provider: str) -> Iterable[ModelDelta]:
    for word in _WORDS.findall(turn.reasoning or ""):
        yield ReasoningDelta(word)
    if turn.reasoning is not None:
        yield EntryCompletedDelta(ReasoningEntry(turn.reasoning, provider=provider))
    for word in _WORDS.findall(turn.content or ""):
        yield TextDelta(word)
    for index, asked in enumerate(turn.tool_calls):
        yield ToolCallDelta(index, asked.id, asked.name, asked.arguments)


def _entries(turn: AssistantTurn, provider: str) -> Iterable[EntryCompletedDelta]:
    if turn.reasoning is not None:
        yield EntryCompletedDelta(ReasoningEntry(turn.reasoning, provider=provider))
    if turn.content:
        yield EntryCompletedDelta(AssistantTextEntry(turn.content))
    for asked in turn.tool_calls:
        entry = ToolCallEntry(asked.id, asked.name, asked.arguments)
        yield EntryCompletedDelta(entry)


def _looks_like_summary_request(entries: Sequence[TranscriptEntry]) -> bool:
    """Tell whether the request opens with the instructions of our own summarizer."""
    first = entries[0] if entries else None
    if not isinstance(first, InputEntry) or first.role != "system":
        return False
    from lovia.context.summarizer.prompts import system_prompt

    opening = system_prompt(1).partition(".")[0]
    return isinstance(first.content, str) and first.content.startswith(opening)


def _default_counter() -> TokenCounter:
    from lovia.tokens.estimators import default_counter

    return default_counter()
