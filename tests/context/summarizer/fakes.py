"""Models and summarizers that do as a test says."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from lovia.context.policy import PolicyContext, Pressure
from lovia.errors import ContextOverflowError
from lovia.retry import RetryPolicy
from lovia.tokens import ByteCounter
from lovia.transcript.deltas import (
    FinishDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from lovia.transcript.entries import TranscriptEntry, text_of
from lovia.usage import Usage

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Awaitable,
        Callable,
        Mapping,
        Sequence,
    )

    from lovia.context.summarizer import FoldStep
    from lovia.providers.base import ModelSettings
    from lovia.tokens.counter import TokenCounter
    from lovia.transcript.deltas import ModelDelta

COUNTER = ByteCounter()
GOOD = "## Goal\nport it\n## State\nhalf done\n## Planned\nthe tests\n"
SPENT = Usage(input_tokens=1_000, output_tokens=100)


@dataclass(frozen=True)
class Answer:
    """One answer of a fake model; an ``error`` is raised after whatever text came before it."""

    text: str = ""
    reasoning: str = ""
    call: str | None = None
    finish: str | None = "stop"
    usage: Usage | None = field(default_factory=SPENT.clone)
    error: BaseException | None = None
    hangs: bool = False


@dataclass(frozen=True)
class Request:
    """What a fake model was asked."""

    entries: list[TranscriptEntry]
    tools: Sequence[Mapping[str, Any]] | None
    settings: ModelSettings | None
    counter: TokenCounter = COUNTER

    @property
    def text(self) -> str:
        """All of the request's text."""
        return "\n".join(map(text_of, self.entries))

    @property
    def size(self) -> int:
        """Its tokens, and those of the answer that it reserves."""
        reserve = self.settings.max_tokens if self.settings and self.settings.max_tokens else 0
        return self.counter.entries(self.entries) + reserve


class FakeModel:
    """A provider whose answers come from a list, and then from a function of the request.

    With a ``window`` it refuses requests that, with the answer they reserve, are larger.
    """

    def __init__(
        self,
        *answers: Answer | str,
        then: Callable[[Request], Answer | str] | None = None,
        window: int | None = None,
        stated: int | None = None,
        reported: bool = True,
        name: str = "fake",
        counter: TokenCounter = COUNTER,
    ) -> None:
        self.counter = counter
        self.name = name
        self.model: str | None = "fake-1"
        self.requests: list[Request] = []
        self.refused = 0
        self.closed = 0
        self.window = window
        self._stated = stated if stated is not None else window
        self._reported = reported
        self._answers = list(answers)
        self._then = then or (lambda request: GOOD)

    def context_window(self) -> int | None:
        """Return the window that the model claims to have."""
        return self._stated

    async def stream(
        self,
        entries: list[TranscriptEntry],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        response_format: Mapping[str, Any] | None = None,
        settings: ModelSettings | None = None,
    ) -> AsyncIterator[ModelDelta]:
        """Give the next answer."""
        request = Request(list(entries), tools, settings, self.counter)
        self.requests.append(request)
        await anyio.lowlevel.checkpoint()
        if self.window is not None and request.size > self.window:
            self.refused += 1
            raise ContextOverflowError(reported_window=self.window if self._reported else None)
        answer = self._answers.pop(0) if self._answers else self._then(request)
        if isinstance(answer, str):
            answer = Answer(answer)
        try:
            async with aclosing(_deltas(answer)) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            self.closed += 1


async def _deltas(answer: Answer) -> AsyncGenerator[ModelDelta]:
    if answer.usage is not None:
        yield UsageDelta(Usage(input_tokens=answer.usage.input_tokens))
    if answer.reasoning:
        yield ReasoningDelta(answer.reasoning)
    for piece in filter(None, (answer.text[:10], answer.text[10:])):
        await anyio.lowlevel.checkpoint()
        yield TextDelta(piece)
    if answer.call is not None:
        yield ToolCallDelta(index=0, call_id="c1", name=answer.call, arguments="{}")
    if answer.hangs:
        await anyio.sleep_forever()
    if answer.error is not None:
        raise answer.error
    if answer.usage is not None:
        yield UsageDelta(answer.usage)
    yield FinishDelta(answer.finish)


@dataclass
class PlainSummarizer:
    """A summarizer of the simplest kind: it returns a text, and offers nothing else."""

    reply: Callable[[Sequence[TranscriptEntry], str | None], str | Awaitable[str]] = (
        lambda entries, prior: "short"
    )
    seen: list[tuple[list[TranscriptEntry], str | None]] = field(default_factory=list)

    async def summarize(
        self,
        entries: Sequence[TranscriptEntry],
        *,
        ctx: PolicyContext,
        prior_summary: str | None = None,
        focus: str | None = None,
    ) -> str:
        """Note what was asked, and reply."""
        self.seen.append((list(entries), prior_summary))
        await anyio.lowlevel.checkpoint()
        reply = self.reply(entries, prior_summary)
        return reply if isinstance(reply, str) else await reply


def no_wait(attempts: int = 3, waited: list[float] | None = None) -> RetryPolicy:
    """Return a retry policy whose waits pass at once; ``waited`` takes their seconds."""

    async def sleep(seconds: float) -> None:
        if waited is not None:
            waited.append(seconds)
        await anyio.lowlevel.checkpoint()

    return RetryPolicy(max_attempts=attempts, sleep=sleep)


def context(
    provider: object = None, *, window: int | None = None, scale: float = 1.0, **fields: Any
) -> PolicyContext:
    """Return the context of a pass over a request of a window."""
    counter: TokenCounter = fields.pop("counter", COUNTER)
    pressure = Pressure(
        trigger=None,
        target=None,
        window=window,
        request=0,
        counter=counter,
        scale=scale,
        pass_id="p1",
    )
    return PolicyContext(provider=provider, pressure=pressure, **fields)


@dataclass
class Steps:
    """Takes the steps of a fold, and says that it is enough after ``stop_after`` units."""

    stop_after: int | None = None
    seen: list[FoldStep] = field(default_factory=list)

    def __call__(self, step: FoldStep) -> bool:
        """Take one step."""
        self.seen.append(step)
        return self.stop_after is None or step.units_done < self.stop_after

    @property
    def done(self) -> list[int]:
        """Units covered after each step."""
        return [step.units_done for step in self.seen]


def goes_on(step: FoldStep) -> bool:
    """Never say that it is enough."""
    return True
