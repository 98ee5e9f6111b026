"""The summarizer that asks a model: what it asks, what it accepts, what it books."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia.cancellation import CancelToken
from lovia.context.summarizer import LLMSummarizer
from lovia.context.summarizer.protocol import RequestTooLarge
from lovia.errors import (
    BudgetExceeded,
    ContextOverflowError,
    ProviderError,
    RunCancelled,
    SummaryRejected,
    UserError,
)
from lovia.providers.base import ModelSettings
from lovia.retry import RetryPolicy
from lovia.transcript.entries import (
    AssistantTextEntry,
    InputEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)
from lovia.usage import RunBudget, Usage
from tests.context.summarizer.fakes import (
    COUNTER,
    GOOD,
    SPENT,
    Answer,
    FakeModel,
    Request,
    context,
    no_wait,
)

if TYPE_CHECKING:
    from lovia.context.policy import PolicyContext

pytestmark = pytest.mark.anyio

TALK: list[TranscriptEntry] = [
    InputEntry("user", "Port the parser."),
    ToolCallEntry("c1", "read", '{"path": "parser.py"}'),
    ToolResultEntry("c1", "def parse(): ..."),
    AssistantTextEntry("Read it."),
]
RATE_LIMIT = ProviderError("slow down", status_code=429, retryable=True)


async def _summarize(model: FakeModel, ctx: PolicyContext | None = None, **settings: Any) -> Any:
    settings.setdefault("retry", no_wait())
    return await LLMSummarizer(**settings).summarize(TALK, ctx=ctx or context(model))


# --- the request ---


async def test_a_request_is_a_system_and_a_user_entry_of_plain_text_without_tools() -> None:
    """No tool blocks, no tools, and no two user messages in a row reach the model."""
    model = FakeModel()
    summary = await _summarize(model)
    assert summary.text == GOOD.strip()
    assert summary.attempts == 1
    (request,) = model.requests
    assert [(type(e), getattr(e, "role", None)) for e in request.entries] == [
        (InputEntry, "system"),
        (InputEntry, "user"),
    ]
    assert request.tools is None
    assert "Port the parser." in request.text
    assert "def parse(): ..." in request.text


async def test_instructions_rules_focus_and_prior_summary_reach_the_model() -> None:
    """Everything that a summary has to respect is in the request, each in its place."""
    model = FakeModel()
    ctx = context(model, agent="coder")
    summarizer = LLMSummarizer(
        extra_instructions="Mind the dates.",
        constraints=lambda ctx: f"{ctx.agent} never pushes to main.",
        retry=no_wait(),
    )
    await summarizer.summarize(TALK, ctx=ctx, prior_summary="Before: nothing.", focus="the parser")
    system, user = model.requests[0].entries
    assert isinstance(system, InputEntry)
    assert isinstance(user, InputEntry)
    assert "Mind the dates." in system.content
    for part in ("coder never pushes to main.", "Before: nothing.", "the parser"):
        assert part in user.content
        assert part not in system.content


async def test_the_answer_is_limited_to_an_eighth_of_the_window() -> None:
    """The model is told how long its answer may be, in tokens and in words."""
    model = FakeModel(window=8_000)
    await _summarize(model, context(model, window=8_000), settings=ModelSettings(temperature=0.2))
    (request,) = model.requests
    assert request.settings == ModelSettings(temperature=0.2, max_tokens=1_000)
    assert "at most 600 words" in request.text


async def test_the_same_entries_give_the_same_request() -> None:
    """Requests are deterministic, so that a repeated one can be served from a prompt cache."""
    model = FakeModel()
    await _summarize(model)
    await _summarize(model)
    assert model.requests[0] == model.requests[1]


async def test_a_request_that_cannot_fit_is_not_sent() -> None:
    """Too many entries at once are refused before the provider sees them, with the excess."""
    model = FakeModel(window=1_000)
    summarizer = LLMSummarizer(retry=no_wait())
    with pytest.raises(RequestTooLarge) as refusal:
        await summarizer.summarize(TALK * 200, ctx=context(model, window=1_000))
    assert refusal.value.excess > 0
    assert model.requests == []


async def test_the_smallest_known_window_counts() -> None:
    """A stated, a configured and a learned window are all respected, and so is the run's scale."""
    model = FakeModel(window=50_000)
    ctx = context(model, window=50_000)
    summarizer = LLMSummarizer(window_tokens=20_000)
    assert summarizer.window(ctx) == 20_000
    assert LLMSummarizer().window(context(model, window=50_000, scale=2.0)) == 25_000
    assert LLMSummarizer(model).window(context(None, window=1_000, scale=2.0)) == 50_000
    assert LLMSummarizer().window(context(None)) is None
    assert LLMSummarizer().room(context(None), prior_summary=None, focus=None) is None


async def test_a_window_that_a_refusal_names_is_learned_per_provider_and_model() -> None:
    """The next request to the same model respects the window, another model's does not change."""
    small, large = FakeModel(window=4_000, stated=90_000), FakeModel(stated=90_000, name="other")
    summarizer = LLMSummarizer(retry=no_wait())
    with pytest.raises(ContextOverflowError):
        await summarizer.summarize(TALK * 300, ctx=context(small, window=90_000))
    assert summarizer.window(context(small, window=90_000)) == 4_000
    assert summarizer.window(context(large, window=90_000)) == 90_000


async def test_its_own_provider_is_asked_when_it_has_one() -> None:
    """The run's provider is not called, and its window plays no part."""
    run, own = FakeModel(window=1_000), FakeModel(window=9_000)
    summarizer = LLMSummarizer(own, retry=no_wait())
    await summarizer.summarize(TALK, ctx=context(run, window=1_000))
    assert run.requests == []
    assert len(own.requests) == 1


async def test_no_provider_or_only_a_model_name_is_a_clear_error() -> None:
    """Missing settings are named, with what to do about them."""
    with pytest.raises(UserError, match="no provider") as without:
        await LLMSummarizer().summarize(TALK, ctx=context(None))
    assert without.value.hint
    with pytest.raises(UserError, match="gpt-5-mini"):
        LLMSummarizer(model="gpt-5-mini")


# --- replies ---


async def test_missing_sections_are_asked_for_once_with_the_draft() -> None:
    """A summary without some sections goes back to the model, which writes it again."""
    model = FakeModel("## Goal\nport it", GOOD)
    summary = await _summarize(model)
    assert summary.text == GOOD.strip()
    assert summary.attempts == 2
    assert summary.usage == Usage(2_000, 200)
    draft, correction = model.requests[1].entries[2:]
    assert draft == AssistantTextEntry("## Goal\nport it")
    assert isinstance(correction, InputEntry)
    assert "'## State', '## Planned'" in correction.content


@pytest.mark.parametrize(
    "second",
    [
        Answer("", finish="stop"),
        Answer("worse prose"),
        Answer(error=ProviderError("broken", status_code=400)),
        Answer(GOOD, finish="length"),
    ],
)
async def test_a_correction_that_is_no_better_leaves_the_draft(second: Answer) -> None:
    """A draft with some sections is a summary; a second reply cannot take it away."""
    summary = await _summarize(FakeModel("## Goal\nport it", second))
    assert summary.text == "## Goal\nport it"
    assert summary.attempts == 2


async def test_prose_is_accepted_after_one_correction() -> None:
    """A model that ignores the form is asked once more, and then taken at its word."""
    model = FakeModel(then=lambda request: "It is about a parser.")
    summary = await _summarize(model)
    assert summary.text == "It is about a parser."
    assert len(model.requests) == 2


@pytest.mark.parametrize("first", [Answer(""), Answer(GOOD, finish="length")])
async def test_an_empty_or_cut_reply_is_asked_for_once_more(first: Answer) -> None:
    """One more attempt, in a request that still alternates roles and says what was wrong."""
    model = FakeModel(first)
    summary = await _summarize(model)
    assert summary.text == GOOD.strip()
    assert len(model.requests[1].entries) == 2
    assert "last reply" in model.requests[1].text
    assert "last reply" not in model.requests[0].text


@pytest.mark.parametrize(
    ("answer", "reason", "calls"),
    [
        (Answer(""), "empty", 2),
        (Answer("cut", finish="length"), "length", 2),
        (Answer(reasoning="hm"), "reasoning_only", 1),
        (Answer(call="bash", finish="tool_calls"), "tool_call", 1),
        (Answer("no", finish="content_filter"), "refusal", 1),
        (Answer("I'm sorry, I can't."), "refusal", 1),
    ],
)
async def test_what_is_no_summary_is_rejected(answer: Answer, reason: str, calls: int) -> None:
    """Each kind of useless reply is rejected with its reason; what it cost is booked."""
    model = FakeModel(then=lambda request: answer)
    ctx = context(model)
    with pytest.raises(SummaryRejected) as rejected:
        await _summarize(model, ctx)
    assert rejected.value.reason == reason
    assert len(model.requests) == calls
    assert ctx.usage.summary == Usage(1_000 * calls, 100 * calls)


async def test_a_draft_longer_than_allowed_is_cut_for_the_correction() -> None:
    """A provider that ignores the output limit cannot make the correction overflow."""
    model = FakeModel("## Goal\n" + "many words " * 5_000, window=4_000)
    summary = await _summarize(model, context(model, window=4_000))
    assert summary.text == GOOD.strip()
    assert model.refused == 0
    assert model.requests[1].size <= 4_000


# --- errors ---


@pytest.mark.parametrize(
    "error", [RATE_LIMIT, ConnectionError("reset"), ProviderError("down", status_code=503)]
)
async def test_transient_errors_are_retried_with_back_off(error: Exception) -> None:
    """The same request is sent again after a wait, and each attempt counts."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    model = FakeModel(Answer("begun", error=error), Answer(error=error))
    ctx = context(model)
    retry = RetryPolicy(max_attempts=3, backoff_base=4.0, sleep=sleep)
    summary = await _summarize(model, ctx, retry=retry)
    assert summary.text == GOOD.strip()
    assert summary.attempts == 3
    assert model.requests[0] == model.requests[2]
    assert 2 <= waits[0] <= 4 <= waits[1] <= 8


async def test_a_final_error_is_raised_as_it_is() -> None:
    """What retrying cannot help, or did not help, reaches the caller."""
    with pytest.raises(ProviderError, match="bad key"):
        await _summarize(FakeModel(Answer(error=ProviderError("bad key", status_code=401))))
    model = FakeModel(then=lambda request: Answer(error=RATE_LIMIT))
    with pytest.raises(ProviderError, match="slow down"):
        await _summarize(model)
    assert len(model.requests) == 3


async def test_a_refusal_for_size_is_not_retried() -> None:
    """An overflow goes to whoever can send less."""
    model = FakeModel(window=100, stated=0)
    with pytest.raises(ContextOverflowError):
        await _summarize(model)
    assert len(model.requests) == 1


async def test_usage_of_attempts_that_died_in_the_middle_is_booked() -> None:
    """What a dying stream had reported counts, and goes to the summaries' share."""
    model = FakeModel(Answer("half", error=RATE_LIMIT))
    ctx = context(model)
    summary = await _summarize(model, ctx)
    assert ctx.usage.summary == Usage(2_000, 100)
    assert ctx.usage.total_tokens == 2_100
    assert summary.usage == Usage(2_000, 100)
    assert ctx.last_input_tokens is None
    assert model.closed == 2


async def test_a_provider_without_usage_is_handled() -> None:
    """Nothing reported means nothing booked, and no error."""
    model = FakeModel(Answer(GOOD, usage=None))
    ctx = context(model)
    summary = await _summarize(model, ctx)
    assert summary.usage == ctx.usage.summary == Usage()


async def test_a_model_that_never_answers_runs_into_the_timeout() -> None:
    """A stuck stream ends with a clear error, is closed, and its usage is booked."""
    model = FakeModel(Answer("begun", hangs=True))
    ctx = context(model)
    with pytest.raises(ProviderError, match=r"not finished after 0.05 seconds") as late:
        await _summarize(model, ctx, timeout=0.05)
    assert late.value.retryable
    assert late.value.hint
    assert ctx.usage.summary == Usage(1_000, 0)
    assert model.closed == 1


async def test_no_wait_goes_beyond_the_timeout() -> None:
    """When the wait that a provider asks for does not fit, its error is raised at once."""
    error = ProviderError("later", status_code=429, retryable=True, retry_after=20.0)
    model = FakeModel(then=lambda request: Answer(error=error))
    with anyio.fail_after(5), pytest.raises(ProviderError, match="later"):
        await _summarize(model, retry=RetryPolicy(), timeout=10.0)
    assert len(model.requests) == 1


# --- stopping ---


async def test_a_cancelled_run_stops_inside_the_stream() -> None:
    """The checkpoint in the stream notices a request to stop; what was spent is booked."""
    token = CancelToken()

    def answer(request: Request) -> Answer:
        token.cancel("user")
        return Answer(GOOD)

    model = FakeModel(then=answer)
    ctx = context(model, cancel=token)
    with pytest.raises(RunCancelled) as stopped:
        await _summarize(model, ctx, retry=RetryPolicy(retry_on=lambda error: True))
    assert stopped.value.cancellation_checkpoint == "summary_stream"
    assert ctx.usage.summary == Usage(1_000, 0)
    assert len(model.requests) == model.closed == 1


async def test_a_cancelled_task_closes_the_stream_and_books_the_usage() -> None:
    """Cancellation from outside leaves no open stream and no unbooked tokens."""
    model = FakeModel(Answer("begun", hangs=True))
    ctx = context(model)
    with anyio.move_on_after(0.05):
        await _summarize(model, ctx)
    assert model.closed == 1
    assert ctx.usage.summary == Usage(1_000, 0)


async def test_a_spent_budget_stops_before_the_next_attempt() -> None:
    """A retry is a model call like any other: the budget is looked at first."""
    model = FakeModel(Answer(GOOD[:20], error=RATE_LIMIT))
    ctx = context(model, budget=RunBudget(max_total_tokens=500))
    with pytest.raises(BudgetExceeded):
        await _summarize(model, ctx)
    assert len(model.requests) == 1
    assert ctx.usage.summary.input_tokens == SPENT.input_tokens


async def test_measure_says_what_an_entry_takes_in_a_request() -> None:
    """A large result is measured as clipped, not as recorded."""
    summarizer = LLMSummarizer(result_chars=400)
    ctx = context(None)
    large = ToolResultEntry("c1", "many words " * 9_000)
    assert summarizer.measure(large, ctx) < 150 < COUNTER.entry(large)
