"""The summarizer that asks no model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.context.summarizer import ExtractiveSummarizer, Summary, fold
from lovia.context.summarizer.extract import Extract, extract, merge
from lovia.context.summarizer.sections import parse, render
from lovia.transcript.entries import (
    AssistantTextEntry,
    InputEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)
from lovia.transcript.text import clean_text
from tests.context.summarizer.fakes import Steps, context
from tests.context.summarizer.strategies import entries, texts

pytestmark = pytest.mark.anyio

SESSION: list[TranscriptEntry] = [
    InputEntry("system", "You are careful."),
    InputEntry("user", "Port the parser to Rust.\nKeep the tests."),
    AssistantTextEntry("I looked around. We decided to use nom because it is small. Fine."),
    ToolCallEntry("c1", "read_file", '{"path": "src/parser.py"}'),
    ToolResultEntry("c1", "def parse(): ..."),
    ToolCallEntry("c2", "bash", '{"command": "cargo test\\ncat src/lib.rs"}'),
    ToolResultEntry("c2", "running\nerror[E0432]: unresolved import `nom`", is_error=True),
    ToolCallEntry("c3", "bash", "{}"),
    ToolResultEntry("c3", "Traceback (most recent call last):\n  File\nValueError: bad input\n"),
    InputEntry("user", "Now the lexer, please."),
    AssistantTextEntry("The lexer is half done."),
]


def test_what_is_marked_in_a_session() -> None:
    """Goal, requests, decisions, errors, files, tools and the last state are found."""
    marked = extract(SESSION)
    assert marked.goal == "Port the parser to Rust.\nKeep the tests."
    assert marked.requests == ["Now the lexer, please."]
    assert marked.decisions == ["We decided to use nom because it is small."]
    assert marked.errors == ["error[E0432]: unresolved import `nom`", "ValueError: bad input"]
    assert marked.files == ["src/parser.py", "src/lib.rs"]
    assert marked.tools == {"read_file": 1, "bash": 2}
    assert marked.state[-1] == "The lexer is half done."


async def test_the_text_has_a_section_for_each_kind() -> None:
    """The summary is readable, and the goal stands in it word for word."""
    summary = await ExtractiveSummarizer().summarize(SESSION * 9, ctx=context())
    assert summary.attempts == 0
    assert summary.text.startswith("## Goal\n- Port the parser to Rust.\n  Keep the tests.\n")
    assert "## Later requests\n" in summary.text
    assert "- bash x18" in summary.text


async def test_it_is_deterministic_and_reads_its_own_summary() -> None:
    """Folding in two steps keeps the goal and adds up what was counted."""
    summarizer, ctx = ExtractiveSummarizer(), context()
    first = await summarizer.summarize(SESSION * 9, ctx=ctx)
    assert first == await summarizer.summarize(SESSION * 9, ctx=ctx)
    second = await summarizer.summarize(SESSION * 9, ctx=ctx, prior_summary=first.text)
    assert second.text.startswith("## Goal\n- Port the parser to Rust.\n  Keep the tests.\n")
    assert "- bash x36" in second.text


async def test_folding_without_end_stays_bounded_and_keeps_the_first_goal() -> None:
    """After many folds the summary is no larger than its bound, the first goal still in it."""
    summarizer, ctx = ExtractiveSummarizer(max_chars=2_000), context()
    summary: Summary | None = None
    for turn in range(60):
        said: list[TranscriptEntry] = [
            InputEntry("user", f"Request {turn}: " + "do more " * 40),
            AssistantTextEntry(f"Turn {turn}. " + "It was decided so. " * 30),
        ]
        spoken = [*SESSION, *said] if turn == 0 else said
        summary = await summarizer.summarize(
            spoken, ctx=ctx, prior_summary=summary.text if summary else None
        )
        assert len(summary.text) <= 2_000
        assert "Port the parser to Rust.\n  Keep the tests." in summary.text
        assert f"Turn {turn}." in summary.text


async def test_a_foreign_prior_summary_is_quoted() -> None:
    """What somebody else summarised stays as an excerpt, also through later folds."""
    summarizer, ctx = ExtractiveSummarizer(), context()
    first = await summarizer.summarize(
        SESSION * 9, ctx=ctx, prior_summary="The user is called Ann."
    )
    second = await summarizer.summarize(SESSION, ctx=ctx, prior_summary=first.text)
    for summary in (first, second):
        assert "## Earlier summary\n- The user is called Ann." in summary.text


async def test_a_small_window_gets_a_small_summary() -> None:
    """The bound follows the run's window, about an eighth of it."""
    summary = await ExtractiveSummarizer().summarize(SESSION * 99, ctx=context(window=1_000))
    assert len(summary.text) <= 400


async def test_it_needs_one_fold_for_any_span() -> None:
    """It reads without a limit, so a span is one chunk in any window."""
    steps = Steps()
    outcome = await fold(
        [SESSION] * 500,
        summarizer=ExtractiveSummarizer(),
        ctx=context(window=1_000),
        prior_summary=None,
        focus=None,
        on_folded=steps,
    )
    assert (outcome.error, outcome.units_done, outcome.calls) == (None, 500, 0)
    assert steps.done == [500]


@given(
    spans=st.lists(st.lists(entries(), max_size=6), min_size=1, max_size=4),
    prior=st.none() | texts(),
    limit=st.integers(200, 6_000),
)
async def test_any_entries_give_bounded_text_that_encodes_and_can_be_read_again(
    spans: list[list[TranscriptEntry]], prior: str | None, limit: int
) -> None:
    """Hostile texts cannot break the form, the bound or the encoding."""
    summarizer, ctx = ExtractiveSummarizer(max_chars=limit), context()
    summary = prior
    for span in spans:
        summary = (await summarizer.summarize(span, ctx=ctx, prior_summary=summary)).text
        assert 0 < len(summary) <= limit
        summary.encode()
        assert summary == "Nothing was said." or parse(summary) is not None


@given(
    goal=texts(10),
    requests=st.lists(texts(5), max_size=4),
    tools=st.dictionaries(st.sampled_from(["bash", "read x2", "w"]), st.integers(1, 99)),
)
def test_what_is_written_is_read_again(
    goal: str, requests: list[str], tools: dict[str, int]
) -> None:
    """An extract that fits survives its text form unchanged."""
    goal, *requests = (clean_text(text).strip() or "a" for text in (goal, *requests))
    written = Extract(goal=goal, requests=requests, tools=tools)
    read = parse(render(written, 10**6))
    assert read is not None
    assert (read.goal, read.requests or []) == (goal, requests)
    if "read x2" not in tools:
        assert read.tools == tools


@pytest.mark.parametrize("text", ["", "prose", "## Goal\nprose", "- item", "## Unknown\n- item"])
def test_text_in_another_form_is_not_read_as_an_extract(text: str) -> None:
    """Only the exact form is parsed."""
    assert parse(text) is None


def test_merging_keeps_the_first_goal_and_the_newest_state() -> None:
    """A later goal becomes a request, and a later state replaces the earlier one."""
    merged = merge(
        Extract(goal="a", state=["s1"], tools={"x": 1}, files=["f", "g"]),
        Extract(goal="b", state=["s2"], tools={"x": 2}, files=["f"]),
    )
    assert (merged.goal, merged.requests, merged.state) == ("a", ["b"], ["s2"])
    assert (merged.tools, merged.files) == ({"x": 3}, ["g", "f"])
