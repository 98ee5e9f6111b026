"""The tool that gives removed content back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.context.archive import FileCompactionArchive, MemoryArchive
from lovia.context.markers import persisted_result, snipped
from lovia.context.policy import PolicyContext
from lovia.context.recall import (
    DEFAULT_CHARS,
    MOST_CHARS,
    RECALL_TOOL_NAME,
    RecallSource,
    recall,
    recall_tool,
)
from lovia.testing import ScriptedProvider
from lovia.transcript.entries import (
    AssistantTextEntry,
    InputEntry,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)
from tests.cases.support import Conversation, policy_of
from tests.notation import A, U

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio

CTX = PolicyContext(session_id="s1", run_id="r1")
LONG = "".join(f"line {number} of the log\n" for number in range(5_000))
ENTRIES: list[TranscriptEntry] = [
    InputEntry("user", "Where is the bug?"),
    ToolCallEntry("c1", "read", '{"path": "a.log"}'),
    ToolResultEntry("c1", LONG),
    ToolCallEntry("c2", "read", "{}"),
    ToolResultEntry("c2", "first answer"),
    ToolCallEntry("c2", "read", "{}"),
    ToolResultEntry("c2", "second answer", is_error=True),
    ToolCallEntry("c3", "wait", "{}"),
    AssistantTextEntry("It is in line 4321."),
    ToolResultEntry("c4", "", parts=[TextPart("rich text")]),
]
SOURCE = RecallSource(ENTRIES, session_id="s1", run_id="r1")


def body(answer: str) -> str:
    """Return what follows the header."""
    return answer.partition("\n")[2]


def header(answer: str) -> str:
    """Return the header."""
    return answer.partition("\n")[0]


async def test_a_result_comes_back_page_by_page() -> None:
    """A result is shown from its beginning, and the header says how to go on until it is whole."""
    shown, arguments = "", {"call_id": "c1", "limit": 16_000}
    for _ in range(20):
        answer = await recall(arguments, SOURCE)
        shown += body(answer)
        assert f"{len(LONG):,}" in header(answer)
        assert "'c1'" in header(answer)
        if "offset=" not in header(answer):
            break
        arguments["offset"] = int(header(answer).rpartition("offset=")[2].rstrip("]"))
    assert shown == LONG


async def test_a_page_has_a_default_and_a_cap() -> None:
    """Without a limit a page is short, and no limit makes it longer than the cap."""
    assert len(body(await recall({"call_id": "c1"}, SOURCE))) == DEFAULT_CHARS
    for limit in (10**9, "1000000"):
        assert len(body(await recall({"call_id": "c1", "limit": limit}, SOURCE))) == MOST_CHARS
    small = await recall({"call_id": "c1", "limit": 10**9}, SOURCE, most_chars=100)
    assert len(body(small)) == 100


@pytest.mark.parametrize(
    ("occurrence", "text"), [(None, "second answer"), (1, "first answer"), (2, "second answer")]
)
async def test_a_repeated_id_has_occurrences(occurrence: int | None, text: str) -> None:
    """Of several results under one id the latest is shown, unless one is named."""
    answer = await recall({"call_id": "c2", "occurrence": occurrence}, SOURCE)
    assert body(answer) == text
    assert "of 2" in header(answer)


async def test_rich_results_come_back_as_text() -> None:
    """The text parts of a result are part of it."""
    assert body(await recall({"call_id": "c4"}, SOURCE)) == "rich text"


async def test_a_range_comes_back_with_its_entries_named() -> None:
    """Entries of a range are shown in order, each under its number, kind and call id."""
    answer = await recall({"first": 3, "last": 6}, SOURCE)
    assert "entries 3 to 6" in header(answer)
    assert "--- entry 4: tool result, call_id 'c2' ---\nfirst answer\n" in answer
    assert "a.log" not in answer


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"first": 8}, "entries 8 to 9"),
        ({"last": 1}, "entries 0 to 1"),
        ({"first": "0", "last": "0"}, "entries 0 to 0"),
        ({"first": 8, "last": 10_000}, "entries 8 to 9"),
    ],
)
async def test_ranges_may_be_open(arguments: dict[str, Any], shown: str) -> None:
    """Either end may be left out or lie beyond, and numbers may come as text."""
    assert shown in header(await recall(arguments, SOURCE))


async def test_a_placeholder_names_a_range_that_comes_back() -> None:
    """The numbers in the placeholder of a middle snip are the numbers to ask for."""
    first, last = [int(n) for n in snipped(3, 7).rstrip("]").split("entries ")[-1].split(" to ")]
    answer = await recall({"first": first, "last": last}, SOURCE)
    assert "first answer" in answer
    assert "second answer" in answer


async def test_search_finds_places_to_read_on_from() -> None:
    """A search shows where a text is; reading from that offset shows the text itself."""
    found = await recall({"call_id": "c1", "search": "LINE 4321 "}, SOURCE)
    offset = int(body(found).removeprefix("offset ").partition(":")[0])
    page = await recall({"call_id": "c1", "offset": offset, "limit": 20}, SOURCE)
    assert body(page) == "line 4321 of the log"


async def test_search_alone_looks_everywhere() -> None:
    """Without a selector the whole conversation is searched, and each place names its entry."""
    answer = await recall({"search": "answer"}, SOURCE)
    assert "entry 4: tool result" in answer
    assert "entry 6: tool result" in answer
    assert "whole conversation" in header(answer)


async def test_recalls_are_not_recalled() -> None:
    """What was recalled before is no second place where something was said."""
    entries = [
        *ENTRIES,
        ToolCallEntry("r9", RECALL_TOOL_NAME, '{"search": "first answer"}'),
        ToolResultEntry("r9", "recalled: first answer"),
    ]
    answer = await recall({"search": "first answer"}, RecallSource(entries))
    assert len(body(answer).splitlines()) == 1
    assert "recalled: first" in await recall({"call_id": "r9"}, RecallSource(entries))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"call_id": "zz"}, ["'zz'", "'c4'", "'c2'", "'c1'", "search"]),
        ({"call_id": "c3"}, ["no result was recorded"]),
        ({"call_id": "c2", "occurrence": 3}, ["1 to 2"]),
        ({"first": 10}, ["entries 0 to 9"]),
        ({"first": 5, "last": 2}, ["first comes before last"]),
        ({"offset": -1}, ["offset must be"]),
        ({"limit": "many"}, ["limit must be"]),
        ({"limit": True}, ["limit must be"]),
        ({"offset": 10**30}, ["offset must be"]),
        ({"first": float("inf")}, ["first must be"]),
        ({"search": 7}, ["search must be a text"]),
        ({"call_id": "c1", "offset": 10**9}, ["nothing from offset"]),
        ({"search": "no such words"}, ["nothing from offset"]),
        ({"reference": ".lovia/tool-results/s1/c1.txt"}, ["no archive", "call_id"]),
    ],
)
async def test_what_cannot_be_shown_is_explained(
    arguments: dict[str, Any], words: list[str]
) -> None:
    """A request that leads nowhere gets one line that helps, and no exception."""
    answer = await recall(arguments, SOURCE)
    assert all(word in answer for word in words)
    assert "\n" not in answer.rstrip("\n")


async def test_an_empty_conversation_says_so() -> None:
    """Before anything was said there is nothing to recall."""
    assert "no entries yet" in await recall({"first": 0}, RecallSource([]))
    assert "nothing" in await recall({}, RecallSource([]))


async def test_an_archived_result_is_read_by_its_reference(tmp_path: Path) -> None:
    """The address in a marker is all that is needed, also for archived entries."""
    archive = FileCompactionArchive(tmp_path / "archive")
    source = RecallSource([], archive, "s1", "r1")
    ref = await archive.save_tool_result(LONG, call_id="c1", ctx=CTX)
    shown = persisted_result(LONG, ref.uri, 10).splitlines()[1].partition(": ")[2]
    assert body(await recall({"reference": shown, "limit": 500}, source)) == LONG[:500]
    saved = await archive.save_transcript(ENTRIES, ctx=CTX, reason="middle_snip")
    answer = await recall({"reference": saved.uri, "search": "second"}, source)
    assert "archived entry 6: tool result" in answer


async def test_other_sessions_and_files_stay_closed(tmp_path: Path) -> None:
    """References to another conversation, outside the root, or to what is gone are refused."""
    archive = FileCompactionArchive(tmp_path / "archive")
    other = await archive.save_tool_result(
        "secret", call_id="c1", ctx=PolicyContext(session_id="s2")
    )
    (tmp_path / "secret.txt").write_text("secret")
    source = RecallSource(ENTRIES, archive, "s1", "r1")
    root = (tmp_path / "archive").as_posix()
    for reference in (
        other.uri,
        f"{root}/tool-results/s1/../s2/c1.txt",
        f"{root}/../secret.txt",
        str(tmp_path / "secret.txt"),
        f"{root}/tool-results/s1/c1.txt",
    ):
        answer = await recall({"reference": reference}, source)
        assert answer.startswith("[nothing recalled")
        assert "secret\n" not in answer


async def test_an_archive_that_cannot_tell_sessions_apart_is_not_read() -> None:
    """Without `owns` nobody knows whose a reference is, so only the transcript answers."""

    class Bare:
        """A third party's archive: the required methods alone."""

        async def save_transcript(self, entries: Any, *, ctx: Any, reason: str) -> Any:
            """Never called here."""

        async def save_tool_result(self, output: str, *, call_id: str, ctx: Any) -> Any:
            """Never called here."""

        async def load(self, ref: Any) -> str:
            """Give everything to everybody."""
            return "secret"

    answer = await recall({"reference": "x"}, RecallSource(ENTRIES, Bare(), "s1"))
    assert "no archive to read from" in answer


async def test_a_failing_archive_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive that fails to load gives a line of text, not the end of the run."""
    archive = MemoryArchive()
    ref = await archive.save_tool_result("x", call_id="c1", ctx=CTX)

    async def failing(_: Any) -> str:
        raise OSError("the disk is gone")

    monkeypatch.setattr(archive, "load", failing)
    answer = await recall({"reference": ref.uri}, RecallSource([], archive, "s1", "r1"))
    assert "the disk is gone" in answer


@dataclass
class _Run:
    """The part of a run's context that the tool looks at."""

    entries: list[TranscriptEntry] = field(default_factory=lambda: list(ENTRIES))
    session_id: str | None = "s1"
    run_id: str | None = "r1"


async def test_the_tool_reads_the_run_it_is_called_in() -> None:
    """One tool serves every conversation: it looks at the transcript of the run that calls it."""
    tool = recall_tool()
    context: Any = _Run()
    assert body(await tool.invoke({"call_id": "c4"}, context)) == "rich text"
    context.entries = []
    assert "nothing recalled" in await tool.invoke({"call_id": "c4"}, context)


async def test_the_tool_describes_itself() -> None:
    """Name, parameters and limits are there for the model, and its answers are not cut again."""
    tool = recall_tool(most_chars=5_000)
    assert tool.name == RECALL_TOOL_NAME
    schema = json.loads(json.dumps(tool.parameters))
    assert set(schema["properties"]) == {
        *("call_id", "occurrence", "reference", "first", "last", "offset", "limit", "search")
    }
    assert "5000 at most" in schema["properties"]["limit"]["description"]
    answer = await tool.invoke({"call_id": "c1", "limit": 10**9}, _Run())  # type: ignore[arg-type] # a part of it
    assert 5_000 <= len(answer) <= (tool.max_output_chars or 0)


VALUES = st.one_of(
    st.none(),
    st.integers(-2, 12),
    st.floats(),
    st.booleans(),
    st.text(st.characters(exclude_categories=()), max_size=10),
    st.sampled_from(["c1", "c2", "answer", "3"]),
    st.lists(st.integers(), max_size=2),
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(
        ["call_id", "occurrence", "reference", "first", "last", "offset", "limit", "search", "x"]
    ),
    VALUES,
    max_size=5,
)


@given(ARGUMENTS)
def test_whatever_a_model_asks_has_a_bounded_answer(arguments: dict[str, Any]) -> None:
    """No arguments raise, and every answer encodes, has a header and stays below the cap."""
    import anyio

    answer = anyio.run(recall, arguments, SOURCE)
    answer.encode()
    assert answer.startswith("[")
    assert len(answer) <= MOST_CHARS + 2_000


@pytest.mark.parametrize(("window", "most"), [(2_000, 500), (4_096, 1_024), (10**6, 16_000)])
@pytest.mark.parametrize("how", ["configured", "stated", "learned"])
async def test_a_recall_fits_the_window(how: str, window: int, most: int) -> None:
    """However much the model asks for, an answer takes a quarter of the window at the most."""
    policy = policy_of(context_window_tokens=window if how == "configured" else None)
    (tool,) = policy.tools()
    told: dict[str, Any] = (
        {"provider": ScriptedProvider([], window=window)} if how == "stated" else {}
    )
    talk = Conversation(policy, U("go", tokens=10_000), A("ok"), U("and?"), **told)
    await (talk.refused(window) if how == "learned" else talk.view())
    run: Any = _Run(talk.transcript, "s", None)
    answer = await tool.invoke({"first": 0, "limit": 10**6}, run)
    assert most - 10 <= len(answer.partition("\n")[2]) <= most
