"""Summarizers that others wrote: asked again after what may pass, and after nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import openai
import pytest

from lovia.cancellation import CancelToken
from lovia.context.summarizer import LLMSummarizer, fold, reader
from lovia.errors import ProviderError, RunCancelled, SummaryRejected
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
    monkeypatch.setattr(reader, "_RETRY", no_wait(waited=waited))
    return waited


def failing(*errors: Exception) -> PlainSummarizer:
    """Return a summarizer that raises these in turn, and then answers."""
    left = list(errors)

    def reply(entries: Sequence[TranscriptEntry], prior: str | None) -> str:
        if left:
            raise left.pop(0)
        return "short"

    return PlainSummarizer(reply)


async def folded(summarizer: Any, ctx: PolicyContext | None = None, **limits: Any) -> Any:
    """Fold one unit."""
    return await fold(
        UNITS,
        summarizer=summarizer,
        ctx=ctx or context(),
        prior_summary=None,
        on_folded=goes_on,
        **limits,
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


async def test_a_bug_beside_a_lost_connection_is_a_bug(waits: list[float]) -> None:
    """What goes wrong while a lost connection is being handled is not that connection's fault."""

    def lost() -> str:
        raise ConnectionResetError

    def reply(entries: Sequence[TranscriptEntry], prior: str | None) -> str:
        try:
            return lost()
        except ConnectionResetError as error:
            return str(error.args[0])  # there is none

    outcome = await folded(PlainSummarizer(reply))
    assert isinstance(outcome.error, IndexError)
    assert (outcome.calls, waits) == (1, [])


async def test_an_attempt_that_hangs_is_counted() -> None:
    """After a failure that passed, a call that never ends is the second of two."""
    left: list[Exception] = [BUSY]

    async def reply(entries: Sequence[TranscriptEntry], prior: str | None) -> str:
        if left:
            raise left.pop()
        await anyio.sleep_forever()
        return "never"

    outcome = await folded(PlainSummarizer(reply), seconds=0.05)
    assert isinstance(outcome.error, SummaryRejected)
    assert (outcome.error.reason, outcome.calls) == ("timeout", 2)


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


def with_a_vendors_client(url: str) -> PlainSummarizer:
    """Return a summarizer as users write them: a client's call, and nothing around it."""

    def client() -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0)

    async def reply(entries: Sequence[TranscriptEntry], prior: str | None) -> str:
        messages: Any = [{"role": "user", "content": "Summarise."}]
        async with await anyio.to_thread.run_sync(client) as asked:
            answer = await asked.chat.completions.with_raw_response.create(
                model="gpt-4o", messages=messages, stream=True
            )
            body = await answer.http_response.aread()
        chunks = [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: {")]
        deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
        return "".join(delta.get("content") or "" for delta in deltas)

    return PlainSummarizer(reply)


async def test_a_vendors_rate_limit_is_recognised(waits: list[float]) -> None:
    """The error of the vendor's own client, unknown to us, is told by its status."""
    busy = Failure(429, {"error": {"message": "slow down", "type": "rate_limit_error"}})
    with WireServer(busy, busy, says("short")) as server:
        outcome = await folded(with_a_vendors_client(server.openai_url))
    assert (outcome.error, outcome.summary, outcome.calls) == (None, "short", 3)
    assert len(waits) == 2


async def test_a_vendors_lost_connection_is_recognised(waits: list[float]) -> None:
    """The client's error for a server that is not there has the system's among its causes."""
    with WireServer(says("short")) as server:
        url = server.openai_url
    outcome = await folded(with_a_vendors_client(url))
    assert isinstance(outcome.error, openai.APIConnectionError)
    assert len(waits) == 2


async def test_a_vendors_refusal_is_final(waits: list[float]) -> None:
    """A request that the vendor calls invalid is not sent again."""
    with WireServer(Failure(401, {"error": {"message": "no such key"}})) as server:
        outcome = await folded(with_a_vendors_client(server.openai_url))
    assert isinstance(outcome.error, openai.AuthenticationError)
    assert waits == []
