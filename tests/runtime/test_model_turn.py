"""Model calls: retries, refusals for size, usage, and interruption."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from lovia import (
    ContextOverflowError,
    ProviderError,
    RetryPolicy,
    Runner,
    Usage,
    UserError,
    events,
    tool,
)
from lovia.testing import ScriptedProvider, broken, call, text
from tests.runtime.support import Newest, Untouched, events_of, kinds, provider_of, scripted

pytestmark = pytest.mark.anyio


def patient(waits: list[float], **fields: Any) -> RetryPolicy:
    """Return a retry policy that does not sleep but notes each wait."""

    async def note(seconds: float) -> None:
        waits.append(seconds)

    return RetryPolicy(sleep=note, **fields)


@tool
def look() -> str:
    """Look."""
    return "seen"


DOWN = ProviderError("down", status_code=503)


async def test_a_transient_failure_is_tried_again() -> None:
    """The call is made again after a wait that the event announces."""
    waits: list[float] = []
    agent = scripted(DOWN, DOWN, text("ok"), retry=patient(waits))
    seen = await events_of(Runner.stream(agent, "go"))
    retried = [event for event in seen if isinstance(event, events.ModelRetrying)]
    assert [(event.attempt, event.max_attempts) for event in retried] == [(1, 5), (2, 5)]
    assert [event.delay for event in retried] == waits
    assert kinds(seen)[-1] == "RunCompleted"


async def test_the_provider_says_how_long_to_wait() -> None:
    """A retry-after is honoured."""
    waits: list[float] = []
    agent = scripted(ProviderError("busy", status_code=429, retry_after=7), text("ok"))
    await Runner.run(agent, "go", retry=patient(waits))
    assert waits == [7]


@pytest.mark.parametrize(
    ("errors", "calls"),
    [([DOWN] * 3, 2), ([ProviderError("no", status_code=401)], 1), ([UserError("mine")], 1)],
)
async def test_the_last_failure_surfaces(errors: list[Exception], calls: int) -> None:
    """When attempts are spent, or the failure is none that passes, the run fails with it."""
    agent = scripted(*errors, retry=patient([], max_attempts=2))
    with pytest.raises(type(errors[0])) as caught:
        await Runner.run(agent, "go")
    assert caught.value is errors[0]
    assert len(provider_of(agent).requests) == calls


async def test_half_an_answer_is_void() -> None:
    """What was streamed before a failure is discarded, said so, and never in the transcript."""
    agent = scripted(broken(text("half"), DOWN), text("whole"), retry=patient([]))
    seen = await events_of(Runner.stream(agent, "go"))
    names = kinds(seen)
    assert names.index("OutputDiscarded") < names.index("ModelRetrying")
    assert isinstance(seen[-1], events.RunCompleted)
    assert seen[-1].result.output == "whole"
    assert len(seen[-1].result.entries) == 2


async def test_half_an_answer_can_be_final() -> None:
    """`restart_on_partial=False` gives up once something was streamed, and only then."""
    retry = patient([], restart_on_partial=False)
    with pytest.raises(ProviderError):
        await Runner.run(scripted(broken(text("half"), DOWN), text("x"), retry=retry), "go")
    assert (await Runner.run(scripted(DOWN, text("x"), retry=retry), "go")).output == "x"


async def test_failed_attempts_count() -> None:
    """What a provider reported before its stream broke is part of the run's usage."""

    class Reporting(ScriptedProvider):
        async def _answer(self, request: Any) -> Any:
            from lovia.transcript.deltas import UsageDelta

            yield UsageDelta(Usage(input_tokens=100))
            async for delta in super()._answer(request):
                yield delta

    provider = Reporting([broken(text("half"), DOWN), text("ok")])
    agent = scripted(provider=provider, retry=patient([]))
    result = await Runner.run(agent, "go")
    assert result.usage.input_tokens == 101


async def test_usage_is_the_sum_of_all_calls_with_summaries_apart() -> None:
    """A policy's model calls are in the total and in the summaries' share, however reported."""

    class Spending(Untouched):
        async def apply(self, entries: Any, *, ctx: Any) -> Any:
            ctx.usage.add(Usage(input_tokens=900, output_tokens=100))
            ctx.usage.add_summary(Usage(input_tokens=900, output_tokens=100))
            return await super().apply(entries, ctx=ctx)

    spent = Usage(input_tokens=900, output_tokens=100)
    agent = scripted(replace(text("ok"), usage=spent), context_policy=Spending())
    usage = (await Runner.run(agent, "go")).usage
    assert usage.total_tokens == 3_000
    assert usage.summary.total_tokens == 2_000
    assert usage.input_tokens - usage.summary.input_tokens == 900


async def test_a_refused_request_is_made_smaller_and_sent_again() -> None:
    """After an overflow the policy's reactive answer is sent, and the event says so."""
    overflow = ContextOverflowError(reported_window=99)
    policy = Newest(9, reactive=[1])
    agent = scripted(call("look"), overflow, text("ok"), tools=[look], context_policy=policy)
    seen = await events_of(Runner.stream(agent, "go"))
    assert kinds(seen)[-1] == "RunCompleted"
    assert policy.refusals == [overflow]
    assert [len(request.entries) for request in provider_of(agent).requests] == [1, 3, 1]
    (compacted,) = [event for event in seen if isinstance(event, events.ContextCompacted)]
    assert compacted.reactive
    assert compacted.reason == "reactive_summary"
    assert [len(compacted.entries_before), len(compacted.entries_after)] == [3, 1]


async def test_a_request_that_is_not_smaller_is_not_sent() -> None:
    """When the policy has nothing smaller, the provider's refusal surfaces after one call."""
    overflow = ContextOverflowError()
    agent = scripted(overflow, text("never"), context_policy=Newest(9, reactive=[9]))
    with pytest.raises(ContextOverflowError) as caught:
        await Runner.run(agent, "go")
    assert caught.value is overflow
    assert len(provider_of(agent).requests) == 1


async def test_a_policy_without_a_reactive_form_gets_no_retry() -> None:
    """A policy that only has apply() lets the refusal surface."""
    agent = scripted(ContextOverflowError(), text("never"))
    with pytest.raises(ContextOverflowError):
        await Runner.run(agent, "go")


@pytest.mark.parametrize(("retries", "answers"), [(0, 1), (1, 2), (2, 3)])
async def test_refusals_in_a_row_are_bounded(retries: int, answers: int) -> None:
    """The policy says how many refusals of one turn it answers; the last refusal surfaces."""
    overflows = [ContextOverflowError(f"no {i}") for i in range(5)]
    policy = Newest(9, reactive=[2, 1, 1], retries=retries)
    agent = scripted(call("look"), *overflows, tools=[look], context_policy=policy)
    with pytest.raises(ContextOverflowError) as caught:
        await Runner.run(agent, "go")
    assert caught.value is overflows[answers - 1]


async def test_a_failing_reactive_answer_lets_the_refusal_surface() -> None:
    """The refusal is what the run fails with; why it could not be helped is its cause."""

    class Failing(Newest):
        async def apply_reactive(self, entries: Any, *, ctx: Any, error: Any) -> Any:
            raise OSError("no space")

    overflow = ContextOverflowError()
    agent = scripted(overflow, context_policy=Failing(9))
    with pytest.raises(ContextOverflowError) as caught:
        await Runner.run(agent, "go")
    assert isinstance(caught.value.__cause__, OSError)


async def test_a_run_that_is_stopped_mid_stream_keeps_nothing_of_it() -> None:
    """A stop between two words ends the run; the transcript ends before the answer."""
    agent = scripted(text("a b c"))
    handle = Runner.stream(agent, "go")

    def stop(event: events.Event) -> None:
        if isinstance(event, events.TextDelta):
            handle.cancel("timeout")

    seen = await events_of(handle, stop)
    assert kinds(seen) == ["RunStarted", "TurnStarted", "TextDelta", "RunFailed"]


async def test_a_stop_ends_the_wait_between_attempts() -> None:
    """A run that waits before a retry can be stopped while it waits."""
    agent = scripted(DOWN, text("never"), retry=RetryPolicy(backoff_base=60, backoff_max=60))
    handle = Runner.stream(agent, "go")

    async def stop() -> None:
        await anyio.wait_all_tasks_blocked()
        handle.cancel()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks, handle:
            async for event in handle:
                if isinstance(event, events.ModelRetrying):
                    tasks.start_soon(stop)
    assert len(provider_of(agent).requests) == 1


async def test_providers_without_close_or_usage_work() -> None:
    """A provider may stream from any async iterator and report nothing."""

    class Plain:
        name = "plain"
        model = None

        def stream(self, entries: Any, **kwargs: Any) -> Any:
            from lovia.transcript.deltas import TextDelta

            class Words:
                words = iter(["a ", "b"])

                def __aiter__(self) -> Any:
                    return self

                async def __anext__(self) -> Any:
                    for word in self.words:
                        return TextDelta(word)
                    raise StopAsyncIteration

            return Words()

    result = await Runner.run(scripted(provider=Plain()), "go")  # type: ignore[arg-type]
    assert (result.output, result.usage.total_tokens) == ("a b", 0)
    assert result.last_input_tokens is None
