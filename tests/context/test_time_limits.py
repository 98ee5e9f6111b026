"""An archive or a summarizer that hangs holds up no pass, and what is told of it is true."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
import anyio.to_thread
import pytest

from lovia.context import FileCompactionArchive, PolicyContext
from lovia.context.archive import MemoryArchive, file_archive, files
from lovia.context.archive.timed import timed
from lovia.context.recall import RecallSource, recall
from lovia.context.stages import AutoSummaryStage, ToolResultBudgetStage
from lovia.errors import ArchiveError, UserError
from lovia.transcript import ToolResultEntry
from lovia_otel import names
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import SPENT
from tests.notation import A, C, S, T, U

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lovia.context import ArchiveRef, ContextPolicyResult
    from lovia.transcript import TranscriptEntry
    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio
SETTINGS: dict[str, Any] = {
    "context_window_tokens": 2_000,
    "max_entries": None,
    "large_tool_result_chars": 1_000,
    "tool_result_preview_chars": 100,
    "archive_timeout_seconds": 0.01,
    "summary_timeout_seconds": 0.01,
}


class Hanging(MemoryArchive):
    """An archive that never answers, and counts how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    async def save_tool_result(
        self, output: str, *, call_id: str, ctx: PolicyContext
    ) -> ArchiveRef:
        """Hang."""
        await self._hang()

    async def save_transcript(
        self, entries: Sequence[TranscriptEntry], *, ctx: PolicyContext, reason: str
    ) -> ArchiveRef:
        """Hang."""
        await self._hang()

    async def load(self, ref: ArchiveRef | str) -> str | list[TranscriptEntry]:
        """Hang."""
        await self._hang()

    async def _hang(self) -> NoReturn:
        self.asked += 1
        await anyio.sleep_forever()
        raise AssertionError


class Stuck:
    """A summarizer of somebody else's that begins to spend and then hangs, some times."""

    def __init__(self, times: int = 10**6) -> None:
        self.times = times
        self.calls = 0

    async def summarize(self, entries: Sequence[TranscriptEntry], **told: Any) -> str:
        """Hang, or answer when it has hung often enough."""
        self.calls += 1
        told["ctx"].usage.add_summary(SPENT)
        if self.calls <= self.times:
            await anyio.sleep_forever()
        return "all is well"


def markers(result: ContextPolicyResult) -> list[str]:
    """Return what a view shows of tool results."""
    return [entry.output for entry in result.entries if isinstance(entry, ToolResultEntry)]


def results(count: int, tokens: int = 500) -> list[TranscriptEntry]:
    """Return a batch of large results."""
    ids = [f"r{n}" for n in range(count)]
    return [*(C(call_id) for call_id in ids), *(T(call_id, tokens=tokens) for call_id in ids)]


def talking(turns: int) -> list[TranscriptEntry]:
    """Return turns of a conversation."""
    return [e for n in range(turns) for e in (U(f"u{n}", tokens=60), A(f"a{n}", tokens=60))]


async def test_a_hanging_archive_holds_up_no_pass(caplog: pytest.LogCaptureFixture) -> None:
    """A batch of results is cut all the same, promises nothing, and waits for the archive once."""
    archive = Hanging()
    talk = Conversation(policy_of(**SETTINGS, archive=archive), U("go"))
    result = await talk.view(*results(8))
    assert result.outcome == "compacted"
    assert not any("archived" in marker for marker in markers(result))
    assert [record.note for record in result.stages if record.outcome == "applied"] == [
        "8 large tool results (16,000 characters) cut to a preview"
    ]
    assert archive.asked == 1
    assert "did not answer within 0.01 seconds" in caplog.text
    folded = await talk.view(*talking(20))  # and what summaries remove waits no more
    assert summaries(folded.entries) or folded.outcome == "compacted"
    assert folded.archive_ref is None
    assert archive.asked == 1


async def test_what_is_removed_waits_for_a_hanging_archive_once() -> None:
    """The pass that removes entries is committed without a reference; the next waits no more."""
    archive = Hanging()
    talk = Conversation(policy_of(**{**SETTINGS, "summary_timeout_seconds": None}, archive=archive))
    result = await talk.view(S(), *talking(20))
    assert (result.outcome, result.archive_ref, archive.asked) == ("compacted", None, 1)
    result = await talk.compacted()
    assert (result.archive_ref, archive.asked) == (None, 1)


async def test_an_archive_is_asked_again_after_its_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hung a minute ago may work now; until then the error says what is the matter."""
    now = [100.0]
    monkeypatch.setattr("lovia.context.archive.timed.monotonic", lambda: now[0])
    archive = Hanging()
    limited = timed(archive, 0.01)
    assert limited is not None
    for asked, match in ((1, "within 0.01 seconds"), (1, "a moment ago")):
        with pytest.raises(ArchiveError, match=match):
            await limited.save_tool_result("x", call_id="c", ctx=PolicyContext())
        assert archive.asked == asked
    now[0] += 61
    with pytest.raises(ArchiveError, match="within"):
        await limited.load("x")
    assert archive.asked == 2


async def test_a_stage_made_by_hand_has_a_limit_too() -> None:
    """Whoever builds the stages gets an archive with the default limit, once and not twice."""
    archive = Hanging()
    stage = ToolResultBudgetStage(archive=archive)
    assert stage.archive is timed(stage.archive)
    assert getattr(stage.archive, "archive", None) is archive


async def test_recall_from_a_hanging_archive_says_so() -> None:
    """The model reads that there was no answer, and can go on."""
    archive = Hanging()
    kept = await MemoryArchive.save_tool_result(archive, "x", call_id="c", ctx=PolicyContext())
    source = RecallSource([U("go")], timed(archive, 0.01), session_id=None, run_id=None)
    answer = await recall({"reference": kept.uri}, source)
    assert answer.startswith("[nothing recalled: The archive did not answer")


class Stall:
    """A disk that hangs until it is released, and what is being written to it."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self._begun = threading.Semaphore(0)
        self._publish = files.publish

    def publish(self, folder: Path, name: str, data: bytes, **options: Any) -> bool:
        """Hang, then write."""
        self._begun.release()
        assert self.release.wait(60)
        return self._publish(folder, name, data, **options)

    def wait_for(self, writes: int) -> None:
        """Wait until so many writes hang."""
        for _ in range(writes):
            assert self._begun.acquire(timeout=60)


@pytest.fixture
def stalled(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stall]:
    """Make the disk under a file archive hang until it is released."""
    stall = Stall()
    monkeypatch.setattr(files, "publish", stall.publish)
    yield stall
    stall.release.set()


async def test_a_disk_that_hangs_holds_up_no_pass(
    tmp_path: Path, stalled: Stall, telemetry: Telemetry
) -> None:
    """The write goes on in its thread; its span is an error; what it writes at last is whole."""
    archive = FileCompactionArchive(tmp_path / "kept")
    talk = Conversation(policy_of(**SETTINGS, archive=archive), U("go"))
    result = await talk.view(*results(2))
    assert result.outcome == "compacted"
    assert not any("archived" in marker for marker in markers(result))
    span = telemetry.spans[names.SPAN_ARCHIVE]
    assert (span.attributes or {})[names.ERROR_TYPE] == "ArchiveError"
    stalled.release.set()
    folder = tmp_path / "kept"
    assert {path.read_text() for path in folder.rglob("*.txt")} <= {T("r0", tokens=500).output}


async def test_writes_that_hang_do_not_pile_up(
    tmp_path: Path, stalled: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With as many threads at it as may be, the next write is refused at once."""
    monkeypatch.setattr(file_archive, "_MOST_WRITES", 2)
    archive = FileCompactionArchive(tmp_path / "kept")
    async with anyio.create_task_group() as tasks:
        for number in range(2):
            save = partial(archive.save_tool_result, call_id=f"c{number}", ctx=PolicyContext())
            tasks.start_soon(save, "x")
        await anyio.to_thread.run_sync(stalled.wait_for, 2)
        tasks.cancel_scope.cancel()
    with pytest.raises(ArchiveError, match="still hangs in earlier writes"):
        await archive.save_tool_result("x", call_id="c", ctx=PolicyContext())
    stalled.release.set()


async def test_a_hanging_summarizer_fails_its_stage() -> None:
    """The run goes on without the summary; what was spent is booked, and the breaker counts it."""
    summarizer = Stuck()
    stage = AutoSummaryStage(summarizer, timeout=0.01)
    talk = Conversation(policy_of(**SETTINGS, stages=[stage]), S())
    result = await talk.view(*talking(18))
    assert result.outcome == "failed"
    (record,) = result.stages
    assert record.outcome == "failed"
    assert "stopped by SummaryRejected" in (record.note or "")
    assert result.entries == talk.transcript
    assert talk.usage.summary == replace(SPENT)
    assert talk.state["compacting"]["breaker"]["failures"] == 1


async def test_the_setting_reaches_the_stages() -> None:
    """With the default stages a hanging summarizer costs the summary alone."""
    summarizer = Stuck(times=1)
    talk = Conversation(policy_of(**SETTINGS, summarizer=summarizer), S())
    failed = await talk.view(*talking(18))
    assert failed.outcome in {"failed", "partial"}
    assert not summaries(failed.entries)
    assert summaries((await talk.compacted()).entries)
    assert summarizer.calls >= 2


@pytest.mark.parametrize("name", ["archive_timeout_seconds", "summary_timeout_seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), "10", True])
def test_odd_limits_are_refused(name: str, value: Any) -> None:
    """A limit is a number of seconds above zero, or none."""
    with pytest.raises(UserError, match=name):
        policy_of(None, **{name: value})
    policy_of(None, **{name: None})
