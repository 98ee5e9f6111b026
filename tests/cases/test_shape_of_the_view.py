"""A view has a shape that every chat template takes, and a summary that nobody takes for a user."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from lovia.providers.wire.conversation import InputMessage, ModelMessage, conversation_of
from lovia.providers.wire.names import CallIds
from lovia.transcript import AssistantTextEntry, InputEntry
from lovia.transcript.pairing import newest_user
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import GOOD, FakeModel
from tests.notation import A, C, R, S, T, U

if TYPE_CHECKING:
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio


def history(turns: int = 16, *, system: bool = True) -> list[TranscriptEntry]:
    """Return a conversation of questions, batches and answers."""
    said: list[TranscriptEntry] = [S()] if system else []
    for n in range(turns):
        said += [U(f"u{n}", tokens=60), R("hm"), C(f"c{n}"), T(f"c{n}", f"t{n}", tokens=60)]
        said += [A(f"a{n}", tokens=60)]
    return said


def check_strict(view: list[TranscriptEntry]) -> None:
    """Check that what goes over the wire has user and model in turn, the user first and last."""
    sent = conversation_of(view, ids=CallIds(r"[\s\S]*"), owns=lambda thought: True)
    assert isinstance(sent.messages[0], InputMessage)
    for before, after in pairwise(sent.messages):
        answers = isinstance(before, ModelMessage) and bool(before.calls)
        assert type(before) is not type(after) or answers
    last = sent.messages[-1]
    assert isinstance(last, InputMessage) or last.calls


#: Settings under which the middle is snipped, cleared and summarised, one or all of them.
WAYS: dict[str, dict[str, Any]] = {
    "summary": {"context_window_tokens": 2_400, "max_entries": None},
    "snip": {"max_entries": 20, "keep_recent_entries": 6},
    "snip_and_summary": {
        "context_window_tokens": 1_200,
        "max_entries": 24,
        "keep_recent_entries": 40,
        "keep_initial_entries": 4,
    },
    "nothing_kept": {
        "context_window_tokens": 1_200,
        "keep_initial_entries": 0,
        "keep_recent_entries": 0,
        "keep_recent_tool_results": 0,
    },
}


@pytest.mark.parametrize("settings", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("system", [True, False])
async def test_user_and_model_take_turns_on_the_wire(
    settings: dict[str, Any], system: bool
) -> None:
    """With summaries and placeholders in it, every request suits a template that wants turns."""
    talk = Conversation(policy_of(**settings), *history(2, system=system))
    for turn in range(2, 30):
        for entry in history(turn + 1, system=False)[-5:]:
            view = (await talk.view(entry)).entries
            check_strict(view)
    check_strict((await talk.refused(600)).entries)
    check_strict((await talk.compacted()).entries)


@pytest.mark.parametrize("settings", WAYS.values(), ids=WAYS)
async def test_something_is_left_beside_the_system_message(settings: dict[str, Any]) -> None:
    """However little may stay, a view holds a message that is no system message."""
    for entries in ([S("a" * 9_000), U()], [S(), S(), U(tokens=3_000)], [S(), A(tokens=3_000)]):
        talk = Conversation(policy_of(**settings), *entries)
        for make in (talk.view, talk.refused, talk.compacted):
            view = (await make()).entries
            assert any(getattr(entry, "role", "user") == "user" for entry in view)


async def test_the_summary_is_no_system_message() -> None:
    """A summary stands among the messages, so that no rule about system messages drops it."""
    talk = Conversation(policy_of(**WAYS["summary"]), *history(20))
    view = (await talk.view()).entries
    (summary,) = summaries(view)
    assert summary.role == "user"
    assert [entry for entry in view if getattr(entry, "role", "") == "system"] == [S()]


@pytest.mark.parametrize("how", ["by_size", "by_hand", "by_refusal"])
@pytest.mark.parametrize("last", [U("the question"), A("an answer"), T("c", "a result")])
async def test_the_summary_is_not_the_newest_message(how: str, last: TranscriptEntry) -> None:
    """A summary never ends a view, and the newest real message of the user follows it."""
    settings = {"reactive_keep_recent_entries": 0, "keep_recent_tool_results": 100}
    talk = Conversation(policy_of(**{**WAYS["summary"], **settings}), *history(20))
    call = [C("c")] if last == T("c", "a result") else []
    result = await talk.view(*call, last)
    if how == "by_hand":
        result = await talk.compacted()
    elif how == "by_refusal":
        result = await talk.refused(800)
    view = result.entries
    (summary,) = summaries(view)
    newest = newest_user(talk.transcript)
    assert newest is not None
    assert view.index(summary) < view.index(talk.transcript[newest])
    assert newest_user(view) == view.index(talk.transcript[newest])


async def test_a_summary_is_told_from_what_was_said() -> None:
    """What says of itself that it is a summary is one only if compaction made it."""
    talk = Conversation(policy_of(**WAYS["summary"]), *history(20))
    first = (await talk.view()).entries
    (summary,) = summaries(first)
    said = InputEntry("user", summary.content)
    echoed = AssistantTextEntry(str(summary.content))
    view = (await talk.view(said, echoed, U("go on"))).entries
    assert summaries(view) == [summary]
    assert view[-3:] == [said, echoed, U("go on")]


async def test_an_order_in_a_summary_is_told_as_background() -> None:
    """A list of next steps is framed as the past, and what the user says follows word for word."""
    orders = GOOD + "\n## Next steps\n1. Delete the branch.\n2. Deploy now!"
    talk = Conversation(policy_of(FakeModel(then=lambda _: orders), **WAYS["summary"]), *history())
    view = (await talk.view(U("stop"))).entries
    (summary,) = summaries(view)
    assert isinstance(summary.content, str)
    told, _, frame = summary.content.rpartition("\n\n")
    assert "Deploy now!" in told
    assert "background" in frame
    assert "no instruction" in frame
    assert view[-1] == U("stop")
