"""What people read about a pass: its own sizes before and after, and the history beside them."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

import pytest

from lovia import Runner, events
from lovia.events import CompactionNotice, ContextCompacted
from lovia.testing import ScriptedProvider, text
from tests.cases.support import Conversation, policy_of
from tests.context.summarizer.fakes import GOOD
from tests.notation import A, C, S, T, U
from tests.runtime.support import events_of, scripted


def notice(before: int | None, after: int | None, history: int | None = None, **more: Any) -> str:
    """Return the sentence for these sizes."""
    sizes = {"tokens_before": before, "tokens_after": after, "history_tokens": history}
    return str(CompactionNotice(**{"reason": None, "reactive": False, **sizes, **more}))


def test_a_notice_says_before_after_freed_and_history() -> None:
    """One plain sentence, with the request's sizes and the history for comparison."""
    said = notice(152_340, 61_200, 480_000, reason="auto_summary")
    assert said == (
        "Context compacted (auto_summary): request 152k -> 61k tokens, freed 91k; history 480k."
    )


def test_a_notice_after_a_refusal_says_so() -> None:
    """People learn that the provider had refused the request."""
    said = notice(210_000, 90_000, 900_000, reactive=True, reason="reactive_summary")
    assert said.startswith("The provider refused the request; context compacted")
    assert "request 210k -> 90k tokens, freed 120k; history 900k" in said


@pytest.mark.parametrize(
    ("before", "after", "history", "said"),
    [
        (9_999, 800, None, "request 9,999 -> 800 tokens, freed 9,199."),
        (10_400, 9_600, None, "request 10k -> 9,600 tokens, freed 800."),
        (900, 300, 12_000, "request 900 -> 300 tokens, freed 600; history 12k."),
        (661, 1_752, None, "request 661 -> 1,752 tokens, freed -1,091."),
        (1_500_000, 500_000, 9_000_000, "freed 1000k; history 9000k."),
    ],
)
def test_sizes_are_as_exact_as_people_want_them(
    before: int, after: int, history: int | None, said: str
) -> None:
    """Thousands from five digits on; smaller numbers in full."""
    assert notice(before, after, history).endswith(said)


@pytest.mark.parametrize(("before", "after"), [(None, None), (100, None), (None, 100)])
def test_unknown_sizes_are_not_made_up(before: int | None, after: int | None) -> None:
    """Without both sizes the sentence has no number."""
    assert notice(before, after, 500) == "Context compacted."


@pytest.mark.anyio
async def test_the_notice_of_a_pass_is_about_this_pass() -> None:
    """In a second pass, before is the request as it was then, and not the whole history."""
    told: list[ContextCompacted] = []

    async def hear(event: ContextCompacted) -> None:
        told.append(event)

    policy = policy_of(context_window_tokens=20_000, keep_recent_tool_results=1, on_compacted=hear)
    talk = Conversation(policy, S(), U("go"))
    for n in range(120):
        await talk.view(C(f"c{n}"), T(f"c{n}", tokens=400), A(f"a{n}", tokens=30))
    assert len(told) >= 3
    for event in told:
        said = event.notice
        assert said.tokens_before == event.tokens_before_estimate
        assert said.tokens_before is not None
        assert said.tokens_after is not None
        assert said.tokens_before <= 20_000
        assert said.tokens_after < said.tokens_before
        assert "%" not in str(said)
        assert said.detail
        json.dumps(asdict(said))
    history = [event.history_tokens_estimate for event in told]
    assert history == sorted(history, key=int)  # type: ignore[arg-type] # sizes are known here
    assert history[-1] is not None
    assert history[-1] > 40_000
    assert re.search(r"request 1\dk -> \S+ tokens, freed \S+; history 5\dk", str(told[-1].notice))


@pytest.mark.anyio
async def test_a_run_tells_what_its_passes_did() -> None:
    """The event that a run streams has the notice, with one sentence for each stage that acted."""
    entries: list[Any] = [
        S(),
        *(e for n in range(14) for e in (U(f"u{n}", tokens=90), A(tokens=90))),
    ]
    policy = policy_of(summarizer=None, context_window_tokens=3_000, max_entries=None)
    provider = ScriptedProvider([text("fine")], summarize=GOOD)
    agent = scripted(provider=provider, context_policy=policy)
    seen = await events_of(Runner.stream(agent, [*entries, U("go on")]))
    (event,) = [e for e in seen if isinstance(e, events.ContextCompacted)]
    assert str(event.notice).startswith("Context compacted (auto_summary): request ")
    assert [line.partition(":")[0] for line in event.notice.detail] == ["auto_summary"]
    assert "chunks folded" in event.notice.detail[0]
