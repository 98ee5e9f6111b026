"""A reply that is no summary never stands for anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia import InMemorySession, Runner, compact_session, events
from lovia.context.summarizer.prompts import system_prompt
from lovia.errors import SummaryRejected
from lovia.testing import ScriptedProvider, text
from lovia.transcript.entries import text_of
from lovia.usage import Usage
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import GOOD, SPENT, Answer, FakeModel, PlainSummarizer, Request
from tests.notation import A, S, U
from tests.runtime.support import events_of, kinds, scripted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lovia.context import CompactingContextPolicy, PolicyContext
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio
SETTINGS: dict[str, Any] = {"context_window_tokens": 3_000, "max_entries": None}


def history(turns: int = 14) -> list[TranscriptEntry]:
    """Return a conversation that is over its trigger, and that still fits its window."""
    said: list[TranscriptEntry] = [S()]
    for n in range(turns):
        said += [U(f"u{n}", tokens=90), A(f"a{n}", tokens=90)]
    return [*said, U("newest")]


#: Replies that are no summary, and how often the model is asked before that is clear.
BAD: dict[str, tuple[Answer, int]] = {
    "empty": (Answer(""), 2),
    "blank": (Answer(" \n\t "), 2),
    "zero_width_or_lone_halves": (Answer("\n\r\n"), 2),
    "headings_alone": (Answer("## Goal\n\n## State\n\n## Planned\n"), 2),
    "nothing_under_each_heading": (Answer("**Goal:** none\n**State:** -\n**Planned:**\n(none)"), 2),
    "a_word_for_nothing": (Answer("None."), 2),
    "dots": (Answer("..."), 2),
    "its_own_instructions": (Answer(system_prompt(300)), 2),
    "headings_and_call": (Answer("## Goal\n## State\n## Planned", call="search"), 1),
    "thoughts_alone": (Answer("", reasoning="I should summarise this."), 1),
    "thoughts_in_the_text": (Answer("<think>Let me see. ## Goal ## State ## Planned</think>"), 1),
    "call_without_text": (Answer("", call="search"), 1),
    "remark_and_call": (Answer("Let me look that up first.", call="search"), 1),
    "cut_off": (Answer("## Goal\nport it\n## State\nbuild goi", finish="length"), 2),
    "cut_off_elsewhere": (Answer("## Goal\nport it", finish="max_tokens"), 2),
    "refusal": (Answer("I'm sorry, but I can't help with that."), 1),
    "marked_refusal": (Answer("## Goal\n## State\n## Planned", finish="content_filter"), 1),
}


@pytest.mark.parametrize(("answer", "asked"), BAD.values(), ids=BAD)
async def test_a_reply_that_is_no_summary_changes_nothing(answer: Answer, asked: int) -> None:
    """The pass failed, says so, took nothing out of the view, and booked what it spent."""
    model = FakeModel(then=lambda request: answer)
    told: list[events.ContextCompacted] = []

    async def on_compacted(event: events.ContextCompacted) -> None:
        told.append(event)

    talk = Conversation(policy_of(model, **SETTINGS, on_compacted=on_compacted), *history())
    result = await talk.view()
    assert len(model.requests) == asked
    assert result.outcome == "failed"
    assert result.entries == talk.transcript
    assert (result.changed, result.view, result.summary, result.reason) == (
        *(False, "original", None, None),
    )
    assert told == []
    assert [r.outcome for r in result.stages if r.name == "auto_summary"] == ["failed"]
    assert talk.usage.summary == Usage(asked * SPENT.input_tokens, asked * SPENT.output_tokens)
    assert result.usage.input_tokens == talk.usage.summary.input_tokens
    assert "summary" not in talk.state["compacting"]


@pytest.mark.parametrize("answer", [bad for bad, _ in BAD.values()], ids=BAD)
async def test_a_run_answers_after_a_bad_summary(answer: Answer) -> None:
    """The user gets the answer; no event says that anything was compacted."""
    policy = policy_of(FakeModel(then=lambda request: answer), **SETTINGS)
    provider = ScriptedProvider([text("fine")])
    agent = scripted(provider=provider, context_policy=policy)
    seen = await events_of(Runner.stream(agent, history()))
    assert kinds(seen)[-1] == "RunCompleted"
    assert "ContextCompacted" not in kinds(seen)
    ended = [event.outcome for event in seen if isinstance(event, events.CompactionEnded)]
    assert ended == ["failed"]
    (sent,) = provider.requests
    assert sent.entries == history()


@pytest.mark.parametrize(
    "first",
    ["empty", "headings_alone", "its_own_instructions", "cut_off", "cut_off_elsewhere"],
    ids=lambda name: f"after_{name}",
)
async def test_a_model_that_does_better_when_asked_again_is_believed(first: str) -> None:
    """A reply that is cut off or says nothing is asked for again, and the second one stands."""
    model = FakeModel(BAD[first][0], GOOD)
    talk = Conversation(policy_of(model, **SETTINGS), *history())
    result = await talk.view()
    assert result.outcome == "compacted"
    assert result.summary is not None
    assert result.summary.startswith(GOOD.strip())
    (summary,) = summaries(result.entries)
    assert "build goi" not in str(summary.content)
    assert talk.usage.summary.input_tokens == 2 * SPENT.input_tokens


@pytest.mark.parametrize("answer", [bad for bad, _ in BAD.values()], ids=BAD)
async def test_who_asked_for_a_compaction_hears_that_it_failed(answer: Answer) -> None:
    """A failure is no "nothing to compact": it is raised where the compaction is awaited."""
    session = InMemorySession()
    told: dict[str, Any] = {"session": session, "session_id": "s"}
    policy = policy_of(FakeModel(then=lambda request: answer), max_entries=None)
    await Runner.run(scripted(text("stored")), history(), **told)
    agent = scripted(text("fine"), context_policy=policy)
    before = await session.recall("s")
    with pytest.raises(SummaryRejected):
        await compact_session(session, "s", agent=agent)
    assert await session.recall("s") == before

    answers: list[Any] = []

    async def wait(ticket: Awaitable[Any]) -> None:
        try:
            answers.append(await ticket)
        except SummaryRejected as error:
            answers.append(error)

    async with anyio.create_task_group() as tasks, Runner.stream(agent, "go", **told) as handle:
        tasks.start_soon(wait, handle.compact())
        seen = [event async for event in handle]
    assert [type(answer) for answer in answers] == [SummaryRejected]
    assert kinds(seen)[-1] == "RunCompleted"
    assert kinds(seen).count("CompactionStarted") == 1


async def test_who_asked_hears_that_there_was_nothing_to_compact() -> None:
    """Where nothing lies before the newest entries, the answer is neither an event nor an error."""
    session = InMemorySession()
    await Runner.run(scripted(text("hello")), "hi", session=session, session_id="s")
    agent = scripted(context_policy=policy_of())
    assert await compact_session(session, "s", agent=agent) is None


#: Ways in which a model repeats what it was told, around a summary or in it.
ECHOES: dict[str, Callable[[Request], str]] = {
    "all_of_it": lambda request: f"{text_of(request.entries[0])}\n\n{GOOD}",
    "the_task": lambda request: f"{text_of(request.entries[1]).splitlines()[-1]}\n\n{GOOD}",
    "at_the_end": lambda request: f"{GOOD}\n---\n{text_of(request.entries[0])}",
    "in_brackets": lambda request: GOOD.replace(
        "## State\n", "## State\n(what is done and known now: files, findings, values)\n"
    ),
    "beside_its_own_words": lambda request: (
        f"{GOOD}\n- noted. Copy names, paths, commands, numbers and codes exactly. Call no tool."
    ),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
async def test_a_summary_that_repeats_its_instructions_loses_them(
    echo: Callable[[Request], str],
) -> None:
    """What a summarizer was told is in no view and no later request, however it is repeated."""
    model = FakeModel(then=echo, window=3_000)
    policy = policy_of(model, **SETTINGS)
    talk = Conversation(policy, *history(30))
    for _ in range(2):
        (summary,) = summaries((await talk.view(*history(12))).entries)
        shown = str(summary.content)
        assert all(line in shown for line in GOOD.strip().splitlines())
        for told in (*system_prompt(1).split(". ")[1:-1], "what is done and known", "Write one"):
            assert told not in shown
    later = [text_of(request.entries[1]) for request in model.requests[1:]]
    assert later
    assert all("Copy names" not in asked for asked in later)


async def test_a_summary_of_a_talk_about_summaries_stays_as_it_is() -> None:
    """Headings with something to say, and short orders of a user's, are taken for what they are."""
    said = "## Goal\nQuote 'Call no tool.'\n## State\nnone of it works: nothing\n## Planned\nnone"
    talk = Conversation(policy_of(FakeModel(then=lambda _: said), **SETTINGS), *history())
    (summary,) = summaries((await talk.view()).entries)
    assert said in str(summary.content)


async def test_no_tools_are_offered_to_whoever_summarises() -> None:
    """A summary request holds no tools and no calls, whatever the run may use."""
    model = FakeModel()
    talk = Conversation(policy_of(model, **SETTINGS), *history())
    schema = {"type": "function", "function": {"name": "search", "parameters": {}}}
    await talk.view(tools=[schema], response_format={"type": "json_object"})
    assert model.requests
    assert not any(request.tools for request in model.requests)


@pytest.mark.parametrize(
    "reply",
    ["", "  \n", "## Goal\n\n## State\n", "None", "x" * 60_000],
    ids=["empty", "blank", "headings", "none", "larger"],
)
async def test_a_summarizer_by_anybody_is_judged_as_well(reply: str) -> None:
    """A text that says nothing, or more than it replaces, is rejected wherever it is from."""
    summarizer = PlainSummarizer(lambda entries, prior: reply)
    talk = Conversation(policy_of(summarizer=summarizer, **SETTINGS), *history())
    result = await talk.view()
    assert summarizer.seen
    assert result.outcome == "failed"
    assert result.entries == talk.transcript


class Odd:
    """A summarizer that returns what is no text."""

    def __init__(self, returns: object) -> None:
        self.returns = returns

    async def summarize(self, entries: Any, *, ctx: PolicyContext, **_: Any) -> Any:
        """Return it."""
        return self.returns


@pytest.mark.parametrize("returns", [None, 7, b"bytes", ["a", "list"], {"text": "x"}])
async def test_what_is_no_text_is_no_summary(returns: object) -> None:
    """A summarizer that returns something else than a text fails, and the pass with it."""
    talk = Conversation(policy_of(summarizer=Odd(returns), **SETTINGS), *history())
    result = await talk.view()
    assert result.outcome == "failed"
    assert result.entries == talk.transcript


async def test_the_last_answer_is_not_taken_for_the_summary() -> None:
    """After an empty reply the newest answer stands where it stood, once."""
    model = FakeModel(then=lambda request: Answer(""))
    policy: CompactingContextPolicy = policy_of(model, **SETTINGS)
    talk = Conversation(policy, *history(), A("the last answer"), U("and?"))
    view = (await talk.view()).entries
    assert view.count(A("the last answer")) == 1
    assert not any(getattr(entry, "origin", "") == "summary" for entry in view)
