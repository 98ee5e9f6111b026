"""Whatever characters a tool, a model or a user wrote, every request encodes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lovia import Runner, tool
from lovia.context import FileCompactionArchive
from lovia.context.summarizer import ExtractiveSummarizer
from lovia.testing import ScriptedProvider, call, text
from lovia.tokens import ByteCounter, TiktokenCounter
from lovia.transcript import (
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    entries_from_json,
    entries_to_json,
)
from lovia.transcript.digest import PrefixChain
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import GOOD, FakeModel
from tests.notation import A, C, T, U
from tests.runtime.support import scripted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lovia.tokens import TokenCounter
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio

LONE = "\ud800"
#: Text at whose 400th character a cut is not harmless, by what stands there.
EDGES = {
    "emoji": "x" * 399 + "😀" + "y" * 800,
    "halves_of_an_emoji": "x" * 399 + "\ud83d\ude00" + "y" * 800,
    "lone_half_at_the_edge": "x" * 399 + LONE + "y" * 800,
    "lone_halves_throughout": (LONE + "\udfff\udbff") * 400,
    "lone_half_beyond_the_edge": "x" * 900 + LONE,
    "joined_emoji": "x" * 396 + "👩\u200d👩\u200d👧\u200d👦" + "y" * 800,
    "combining_marks": "x" * 398 + "e\u0301\u0302\u0323" + "y" * 800,
    "flag": "x" * 399 + "🇩🇪" + "y" * 800,
    "han": "压缩上下文" * 200,
    "syllables_in_parts": "x" * 399 + "\u1100\u1161\u11a8" * 200,
}
#: What one character may consist of, so that a part of it must not end a preview.
INSEPARABLE = (
    "👩\u200d👩\u200d👧\u200d👦",
    "e\u0301\u0302\u0323",
    "🇩🇪",
    "\u1100\u1161\u11a8",
    "😀",
)


def shown_of(entry: TranscriptEntry) -> str:
    """Return the preview in the marker of a result."""
    assert isinstance(entry, ToolResultEntry)
    assert entry.origin == "placeholder"
    _, _, rest = entry.output.partition("Preview:\n")
    if not rest:
        _, _, rest = entry.output.partition(">\n")
    return rest.rpartition("\n</")[0]


@pytest.mark.parametrize("output", EDGES.values(), ids=EDGES)
@pytest.mark.parametrize("archived", [False, True])
async def test_a_preview_ends_between_characters(
    output: str, archived: bool, tmp_path: Path
) -> None:
    """A preview shows the beginning of a result, encodes, and ends with a whole character."""
    policy = policy_of(
        large_tool_result_chars=400,
        tool_result_preview_chars=400,
        archive=FileCompactionArchive(tmp_path) if archived else None,
    )
    talk = Conversation(policy, U("read it"), C("a"))
    result = await talk.view(T("a", output))
    shown = shown_of(result.entries[-1])
    whole = output.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert 0 < len(shown) <= 400
    assert whole.startswith(shown)
    for unit in INSEPARABLE:
        starts = [k for k in range(len(whole)) if whole.startswith(unit, k)]
        assert not any(start < len(shown) < start + len(unit) for start in starts)


def hostile_conversation() -> list[TranscriptEntry]:
    """Return a conversation with lone halves in every field that holds text."""
    turns: list[TranscriptEntry] = []
    for n in range(12):
        turns += [
            InputEntry("user", [TextPart(f"look {LONE} {n}"), TextPart("\udfff" * 30)]),
            ReasoningEntry(f"hm {LONE}", id=LONE, signature="sig\udc00", metadata={LONE: [LONE]}),
            ToolCallEntry(f"c{LONE}{n}", f"search{LONE}", json.dumps({"q": LONE})),
            ToolResultEntry(f"c{LONE}{n}", f"{LONE} found {n} " * 40, parts=(TextPart(LONE),)),
            A(f"it is {LONE} {n}"),
        ]
    return [InputEntry("system", f"Be {LONE}."), *turns, U(f"and now {LONE}?")]


@pytest.mark.parametrize("counter", [ByteCounter(), TiktokenCounter("cl100k_base")], ids=["b", "t"])
async def test_lone_halves_in_every_field_reach_no_request(
    counter: TokenCounter, tmp_path: Path
) -> None:
    """Counting, hashing, snipping, clearing, archiving and summarising such text raise nothing."""
    model = FakeModel(then=lambda request: GOOD + f"\nfound {LONE}")
    policy = policy_of(
        model,
        context_window_tokens=1_500,
        max_entries=40,
        large_tool_result_chars=300,
        tool_result_preview_chars=20,
        archive=FileCompactionArchive(tmp_path),
        token_counter=counter,
    )
    system, *turns = hostile_conversation()
    talk = Conversation(policy, system)
    for entry in turns:
        await talk.view(entry)
    await talk.compacted()
    refused = await talk.refused(500)
    assert summaries(refused.entries)
    assert model.requests
    for request in model.requests:
        request.text.encode()
    json.dumps(talk.state, ensure_ascii=False).encode()


async def test_a_summary_without_a_model_encodes_too() -> None:
    """The summarizer that copies out passages copies no lone half."""
    policy = policy_of(
        context_window_tokens=800, max_entries=None, summarizer=ExtractiveSummarizer()
    )
    talk = Conversation(policy, *hostile_conversation())
    assert summaries((await talk.view()).entries)


async def test_text_that_encodes_is_sent_as_it_is() -> None:
    """No entry is copied or normalised that could be sent as it was."""
    said: Sequence[TranscriptEntry] = [U("e\u0301 é 👩\u200d👧"), A("\ufffd 中文"), U("next\x00")]
    talk = Conversation(policy_of(), *said)
    result = await talk.view()
    assert all(sent is entry for sent, entry in zip(result.entries, said, strict=True))


async def test_the_same_text_has_one_digest_before_and_after_json() -> None:
    """A history with lone halves that went through JSON is the history it was."""
    said = hostile_conversation()
    again = entries_from_json(json.loads(json.dumps(entries_to_json(said))))
    assert PrefixChain(said).value() == PrefixChain(again).value()


@tool
def fetch() -> str:
    """Fetch."""
    return LONE + "x" * 500


async def test_a_run_goes_on_after_a_tool_answered_with_half_a_character() -> None:
    """The request after such a result encodes, and the transcript keeps what the tool said."""
    provider = ScriptedProvider([call("fetch"), text("fine"), text("never")])
    agent = scripted(provider=provider, tools=[fetch], context_policy=policy_of())
    result = await Runner.run(agent, f"go {LONE}")
    for sent in provider.requests:
        json.dumps(entries_to_json(sent.entries), ensure_ascii=False).encode()
    assert result.entries[0] == U(f"go {LONE}")
    assert result.entries[2] == T("call_fetch", LONE + "x" * 500)
