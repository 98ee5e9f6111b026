"""Summarizers that others wrote: asked again after what may pass, and after nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import openai
import pytest

from lovia.cancellation import CancelToken
from lovia.context.summarizer import LLMSummarizer, Summary, fold, reader
from lovia.errors import ProviderError, RunCancelled, SummaryRejected
from lovia.retry import RetryPolicy
from lovia.transcript.entries import InputEntry, TranscriptEntry
from tests.context.summarizer.fakes import (
    Answer,
    FakeModel,
    PlainSummarizer,
    context,
    goes_on,
    no_wait,
)
from tests.providers.wire.script import Failure, says
from tests.providers.wire.server import WireServer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context.policy import PolicyContext

pytestmark = pytest.mark.anyio

UNITS: list[list[TranscriptEntry]] = [[InputEntry("user", "message " + "word " * 300)]]
BUSY = ProviderError("busy", status_code=429)


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let waits pass at once, and return how long they were to be, in seconds."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        await anyio.lowlevel.checkpoint()

    monkeypatch.setattr(reader, "_RETRY", RetryPolicy(max_attempts=3, sleep=sleep))
    return waited


def failing(*errors: Exception) -> PlainSummarizer:
    """Return a summarizer that raises these in turn, and then answers."""
    left = list(errors)

    def reply(entries: Sequence[TranscriptEntry], prior: str | None) -> str:
        if left:
            raise left.pop(0)
        return "short"

    return PlainSummarizer(reply)


async def folded(summarizer: Any, ctx: PolicyContext | None = None) -> Any:
    """Fold one unit."""
    return await fold(
        UNITS,
        summarizer=summarizer,
        ctx=ctx or context(),
        prior_summary=None,
        on_folded=goes_on,
    )


@pytest.mark.parametrize(
    "error", [BUSY, ProviderError("cut", retryable=True), TimeoutError(), ConnectionResetError()]
)
async def test_what_may_pass_is_tried_again_inside_the_pass(
    error: Exception, waits: list[float]
) -> None:
    """Twice a lost connection, then the answer: the fold succeeded, after waiting longer."""
    summarizer = failing(error, error)
    outcome = await folded(summarizer)
    assert (outcome.error, outcome.summary, outcome.calls) == (None, "short", 3)
    assert len(summarizer.seen) == 3
    assert 0 < waits[0] < waits[1]


async def test_it_ends_after_three_attempts() -> None:
    """What does not pass is the fold's failure."""
    summarizer = failing(BUSY, BUSY, BUSY)
    outcome = await folded(summarizer)
    assert (outcome.error, outcome.units_done) == (BUSY, 0)
    assert (len(summarizer.seen), outcome.calls) == (3, 3)


@pytest.mark.parametrize(
    "error",
    [
        ProviderError("no key", status_code=401),
        ValueError("bug"),
        SummaryRejected("no", reason="refused"),
    ],
)
async def test_what_stays_wrong_is_not_tried_again(error: Exception, waits: list[float]) -> None:
    """A bug, a wrong key and a refusal would be the same the next time."""
    summarizer = failing(error)
    assert (await folded(summarizer)).error is error
    assert (len(summarizer.seen), waits) == (1, [])


async def test_a_summarizer_that_tries_again_itself_is_asked_once() -> None:
    """Retries do not multiply: the attempts are those of its own policy."""
    busy = Answer(error=BUSY)
    model = FakeModel(*[busy] * 9)
    outcome = await folded(LLMSummarizer(model, retry=no_wait(2)))
    assert outcome.error is BUSY
    assert len(model.requests) == 2


async def test_a_cancelled_run_does_not_wait_for_another_attempt() -> None:
    """A run that was cancelled while an attempt failed makes no other."""
    cancel = CancelToken()

    def reply(entries: Sequence[TranscriptEntry], prior: str | None) -> str:
        cancel.cancel()
        raise BUSY

    summarizer = PlainSummarizer(reply)
    with pytest.raises(RunCancelled):
        await folded(summarizer, context(cancel=cancel))
    assert len(summarizer.seen) == 1


class WithAVendorsClient:
    """A summarizer as users write them: a client's call, and nothing around it."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def summarize(
        self,
        entries: Sequence[TranscriptEntry],
        *,
        ctx: PolicyContext,
        prior_summary: str | None = None,
        focus: str | None = None,
    ) -> Summary:
        """Ask for a summary."""
        messages: Any = [{"role": "user", "content": "Summarise."}]
        async with await anyio.to_thread.run_sync(self._client) as client:
            answer = await client.chat.completions.with_raw_response.create(
                model="gpt-4o", messages=messages, stream=True
            )
            body = await answer.http_response.aread()
        chunks = [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: {")]
        deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
        return Summary("".join(delta.get("content") or "" for delta in deltas))

    def _client(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(api_key="none", base_url=self.url, max_retries=0)


async def test_a_vendors_rate_limit_is_recognised(waits: list[float]) -> None:
    """The error of the vendor's own client, unknown to us, is told by its status."""
    busy = Failure(429, {"error": {"message": "slow down", "type": "rate_limit_error"}})
    with WireServer(busy, busy, says("short")) as server:
        outcome = await folded(WithAVendorsClient(server.openai_url))
    assert (outcome.error, outcome.summary, outcome.calls) == (None, "short", 3)
    assert len(waits) == 2


async def test_a_vendors_lost_connection_is_recognised(waits: list[float]) -> None:
    """The client's error for a server that is not there has the system's among its causes."""
    with WireServer(says("short")) as server:
        url = server.openai_url
    outcome = await folded(WithAVendorsClient(url))
    assert isinstance(outcome.error, openai.APIConnectionError)
    assert len(waits) == 2


async def test_a_vendors_refusal_is_final(waits: list[float]) -> None:
    """A request that the vendor calls invalid is not sent again."""
    with WireServer(Failure(401, {"error": {"message": "no such key"}})) as server:
        outcome = await folded(WithAVendorsClient(server.openai_url))
    assert isinstance(outcome.error, openai.AuthenticationError)
    assert waits == []
