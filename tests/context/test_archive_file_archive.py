"""An archive in a folder, as the policies use it."""

from __future__ import annotations

import os
import stat
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lovia.context.archive import CompactionArchive, FileCompactionArchive, file_archive, files
from lovia.context.policy import ArchiveRef, PolicyContext
from lovia.errors import ArchiveError, LoviaError, UserError
from lovia.transcript import load_transcript
from lovia.transcript.entries import (
    InputEntry,
    ReasoningEntry,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)
from lovia_otel import names
from tests.context.test_archive_naming import HOSTILE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio

CTX = PolicyContext(session_id="s1", run_id="r1")
ENTRIES: list[TranscriptEntry] = [
    InputEntry("user", "héllo \ud800 世界"),
    ReasoningEntry("hm", signature="sig", metadata={"a": [1]}),
    ToolCallEntry("c1", "read", "{}"),
    ToolResultEntry("c1", "line\r\nline\u2028end", is_error=True),
]


@pytest.fixture
def archive(tmp_path: Path) -> FileCompactionArchive:
    """Return an archive that is not made yet."""
    return FileCompactionArchive(tmp_path / "archive")


def paths(root: Path) -> list[str]:
    """Return every file below a folder."""
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir())


async def save(archive: FileCompactionArchive, text: str, call_id: str, **ctx: Any) -> ArchiveRef:
    """Save a result for a session."""
    context = PolicyContext(**({"session_id": "s1", "run_id": "r1"} | ctx))
    return await archive.save_tool_result(text, call_id=call_id, ctx=context)


async def test_a_result_lies_where_the_documents_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default root gives `.lovia/tool-results/{session}/{call}.txt`, and a file there."""
    monkeypatch.chdir(tmp_path)
    archive = FileCompactionArchive()
    assert isinstance(archive, CompactionArchive)
    ref = await save(archive, "output", "call_123")
    assert ref == ArchiveRef(".lovia/tool-results/s1/call_123.txt", "tool_result", 6)
    assert (tmp_path / ref.uri).read_text() == "output"
    monkeypatch.chdir("/")
    assert await archive.load(ref) == "output"


async def test_a_transcript_lies_where_the_documents_say(
    archive: FileCompactionArchive, tmp_path: Path
) -> None:
    """Entries go to `transcripts/{session}/{run}-{timestamp}.jsonl`, a line each, and come back."""
    ref = await archive.save_transcript(ENTRIES, ctx=CTX, reason="auto_summary")
    [path] = paths(tmp_path / "archive")
    assert path.startswith("transcripts/s1/r1-2")
    assert path.endswith("Z.jsonl")
    assert ref.uri == f"{tmp_path.as_posix()}/archive/{path}"
    assert (ref.kind, ref.entries) == ("transcript", 4)
    data = (tmp_path / "archive" / path).read_bytes()
    assert data.isascii()
    assert data.count(b"\n") == len(ENTRIES)
    assert ref.size == len(data)
    assert await archive.load(ref) == ENTRIES
    assert load_transcript(data) == ENTRIES


async def test_passes_of_one_moment_write_different_files(
    archive: FileCompactionArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two saves of the same run at the same microsecond keep both."""
    monkeypatch.setattr(file_archive, "stamp", lambda _: "20261130T000000000000Z")
    first = await archive.save_transcript(ENTRIES[:1], ctx=CTX, reason="x")
    second = await archive.save_transcript(ENTRIES[1:], ctx=CTX, reason="x")
    assert first.uri != second.uri
    assert await archive.load(first) == ENTRIES[:1]
    assert await archive.load(second.uri) == ENTRIES[1:]


async def test_everything_is_private(archive: FileCompactionArchive, tmp_path: Path) -> None:
    """Files are 0600 and folders 0700, the root included when the archive makes it."""
    await save(archive, "secret", "c1")
    await archive.save_transcript(ENTRIES, ctx=CTX, reason="x")
    for path in [tmp_path / "archive", *(tmp_path / "archive").rglob("*")]:
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected


async def test_the_same_output_is_not_written_twice(
    archive: FileCompactionArchive, tmp_path: Path
) -> None:
    """Saving a result again gives the same reference and touches no file."""
    first = await save(archive, "output", "c1")
    path = tmp_path / "archive" / "tool-results" / "s1" / "c1.txt"
    os.utime(path, (1, 1))
    assert await save(archive, "output", "c1") == first
    assert path.stat().st_mtime == 1


async def test_another_output_under_a_used_id_is_kept_as_well(
    archive: FileCompactionArchive, tmp_path: Path
) -> None:
    """A model that reuses an id loses nothing: the later output gets a digest, once."""
    first = await save(archive, "one", "c1")
    second = await save(archive, "two", "c1")
    third = await save(archive, "three", "c1")
    again = await save(archive, "two", "c1")
    assert second == again
    assert len({first.uri, second.uri, third.uri}) == 3
    assert "/c1~" in second.uri
    assert [await archive.load(ref) for ref in (first, second, third)] == ["one", "two", "three"]
    assert len(paths(tmp_path / "archive")) == 3


async def test_a_damaged_copy_is_written_anew(
    archive: FileCompactionArchive, tmp_path: Path
) -> None:
    """A file under a content's own name that holds something else is put right."""
    await save(archive, "one", "c1")
    second = await save(archive, "two", "c1")
    (tmp_path / second.uri).write_bytes(b"cut")
    assert await save(archive, "two", "c1") == second
    assert await archive.load(second) == "two"


async def test_hostile_ids_stay_inside_and_apart(
    archive: FileCompactionArchive, tmp_path: Path
) -> None:
    """Whatever session and call are called, each has a file of its own below the root."""
    refs = {}
    for session in HOSTILE:
        for call_id in (session, "c1"):
            refs[session, call_id] = await save(
                archive, session + call_id, call_id, session_id=session
            )
    assert len({ref.uri for ref in refs.values()}) == len(refs)
    assert len(paths(tmp_path / "archive")) == len(paths(tmp_path)) == len(refs)
    for (session, call_id), ref in refs.items():
        assert await archive.load(ref) == session + call_id
        assert archive.owns(ref, session_id=session)
        assert not archive.owns(ref, session_id="another")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(
    st.lists(st.text(st.characters(exclude_categories=()), max_size=30), max_size=5, unique=True),
    st.text(st.characters(exclude_categories=()), max_size=200),
)
def test_any_text_under_any_id_comes_back(tmp_path: Path, ids: list[str], text: str) -> None:
    """What is saved is what is loaded, surrogates and line ends included, for any ids."""

    async def both_ways() -> None:
        archive = FileCompactionArchive(tmp_path / "archive")
        refs = [await save(archive, text + call_id, call_id, session_id=text) for call_id in ids]
        assert len({ref.uri for ref in refs}) == len(ids)
        assert [await archive.load(ref) for ref in refs] == [text + call_id for call_id in ids]

    anyio.run(both_ways)


async def test_ids_that_differ_in_case_alone_keep_apart(archive: FileCompactionArchive) -> None:
    """Calls and sessions whose ids differ in letter case never meet, on any file system."""
    calls = [await save(archive, call_id, call_id) for call_id in ("call_a", "Call_A", "CALL_A")]
    sessions = [await save(archive, "x", "c", session_id=name) for name in ("User", "user")]
    uris = [ref.uri.casefold() for ref in calls + sessions]
    assert len(set(uris)) == 5
    assert calls[0].uri.endswith("/call_a.txt")
    assert await save(archive, "Call_A", "Call_A") == calls[1]
    assert await save(archive, "x", "c", session_id="user") == sessions[1]
    assert archive.owns(sessions[1], session_id="user")
    assert not archive.owns(sessions[1], session_id="User")
    assert await archive.delete("user") == 1
    assert await archive.load(sessions[0]) == "x"


async def test_runs_without_a_session_do_not_meet(archive: FileCompactionArchive) -> None:
    """Colliding call ids of runs without a conversation are kept apart by the run."""
    one = await save(archive, "one", "call_0", session_id=None, run_id="r1")
    two = await save(archive, "two", "call_0", session_id=None, run_id="r2")
    none = await save(archive, "none", "call_0", session_id=None, run_id=None)
    assert none.uri.endswith("/tool-results/no-session/call_0.txt")
    assert [await archive.load(ref) for ref in (one, two, none)] == ["one", "two", "none"]
    assert archive.owns(one, session_id=None, run_id="r1")
    assert not archive.owns(one, session_id=None, run_id="r2")
    named = await save(archive, "named", "call_0", session_id="no-session")
    assert await archive.delete(None) == 3
    assert await archive.load(named) == "named"


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "/etc/passwd",
        "{root}",
        "{root}/../outside.txt",
        "{root}/tool-results/../../outside.txt",
        "{root}/tool-results/s1/../s1/c1.txt",
        "{root}/tool-results/s1/c1.txt/",
        "{root}/tool-results//c1.txt",
        "{root}/tool-results/s1/c1.txt\0",
        "{root}/tool-results/s1/c1.jsonl",
        "{root}/transcripts/s1/c1.txt",
        "{root}/secrets/s1/c1.txt",
        "{root}x/tool-results/s1/c1.txt",
        "tool-results/s1/c1.txt",
        "file://{root}/tool-results/s1/c1.txt",
        "{root}\\tool-results\\s1\\c1.txt",
        "\ud800",
    ],
)
async def test_nothing_outside_is_loaded(
    archive: FileCompactionArchive, tmp_path: Path, uri: str
) -> None:
    """A reference that the archive cannot have given out is refused without touching a file."""
    await save(archive, "output", "c1")
    (tmp_path / "outside.txt").write_text("outside")
    uri = uri.format(root=(tmp_path / "archive").as_posix())
    with pytest.raises(ArchiveError, match="no reference") as caught:
        await archive.load(uri)
    assert caught.value.hint
    assert not archive.owns(uri, session_id="s1")


async def test_links_inside_are_not_followed(
    archive: FileCompactionArchive, tmp_path: Path
) -> None:
    """A link planted as file, session or kind leads neither reading nor writing out of the root."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "c1.txt").write_text("secret")
    ref = await save(archive, "output", "c1")
    path = tmp_path / "archive" / "tool-results" / "s1" / "c1.txt"
    path.unlink()
    path.symlink_to(secret / "c1.txt")
    with pytest.raises(ArchiveError, match="no plain file"):
        await archive.load(ref)
    moved = await save(archive, "other", "c1")
    assert moved.uri != ref.uri
    path.parent.rename(tmp_path / "s1")
    path.parent.symlink_to(secret)
    with pytest.raises(ArchiveError, match="no plain folder"):
        await save(archive, "other", "c1")
    with pytest.raises(ArchiveError, match="no plain folder"):
        await archive.load(ref)
    assert await archive.delete("s1") == 0
    assert await archive.prune(keep=0) == 0
    assert paths(secret) == ["c1.txt"]
    assert (secret / "c1.txt").read_text() == "secret"


async def test_what_is_gone_is_an_error(archive: FileCompactionArchive, tmp_path: Path) -> None:
    """Loading what was never saved, deleted or damaged says so, and how that can be."""
    root = (tmp_path / "archive").as_posix()
    with pytest.raises(ArchiveError, match="Nothing is archived") as caught:
        await archive.load(f"{root}/tool-results/s1/c1.txt")
    assert caught.value.uri == f"{root}/tool-results/s1/c1.txt"
    ref = await archive.save_transcript(ENTRIES, ctx=CTX, reason="x")
    (tmp_path / ref.uri).write_text('{"type": "input"')
    with pytest.raises(ArchiveError, match="damaged"):
        await archive.load(ref)
    text = await save(archive, "output", "c1")
    (tmp_path / text.uri).write_bytes(b"\xff\xfe")
    with pytest.raises(ArchiveError, match="damaged"):
        await archive.load(text)


async def test_a_root_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """A root that is a file raises an error with a hint."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ArchiveError, match="could not write") as caught:
        await save(FileCompactionArchive(tmp_path / "file"), "output", "c1")
    assert isinstance(caught.value, LoviaError)
    assert "disk has room" in (caught.value.hint or "")


@pytest.mark.skipif(sys.platform != "linux", reason="nobody can write below /proc on Linux alone")
async def test_a_read_only_root_is_an_error() -> None:
    """A place where not even an administrator can make a folder raises an error."""
    with pytest.raises(ArchiveError, match="could not write"):
        await save(FileCompactionArchive("/proc/lovia-archive"), "output", "c1")


@pytest.mark.parametrize("number", [13, 28, 30])
async def test_a_failing_disk_is_an_error_and_leaves_nothing(
    archive: FileCompactionArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """No permission, no room and a read-only file system raise, and no part of a file remains."""

    def failing(_: int) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        with pytest.raises(ArchiveError, match="could not write"):
            await save(archive, "output", "c1")
    assert paths(tmp_path / "archive") == []
    assert await archive.load(await save(archive, "output", "c1")) == "output"


async def test_a_folder_that_vanishes_is_made_again(
    archive: FileCompactionArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clean-up that takes the folder away in between costs a second try, not the result."""
    real, calls = files.publish, []

    def vanishing(folder: Path, name: str, data: bytes, **options: Any) -> bool:
        calls.append(name)
        if len(calls) == 1:
            folder.rmdir()
        return real(folder, name, data, **options)

    monkeypatch.setattr(files, "publish", vanishing)
    assert await archive.load(await save(archive, "output", "c1")) == "output"
    assert calls == ["c1.txt", "c1.txt"]


async def test_many_writers_lose_nothing(archive: FileCompactionArchive) -> None:
    """Tasks that save different and equal outputs under one id at once all find theirs again."""
    refs: dict[int, ArchiveRef] = {}

    async def one(number: int) -> None:
        refs[number] = await save(archive, f"output {number % 6}", "call_0")

    async with anyio.create_task_group() as group:
        for number in range(24):
            group.start_soon(one, number)
    for number, ref in refs.items():
        assert await archive.load(ref) == f"output {number % 6}"
    assert len({ref.uri for ref in refs.values()}) == 6


async def test_a_cancelled_save_is_whole_or_absent(
    archive: FileCompactionArchive, tmp_path: Path
) -> None:
    """Cancelling a save leaves the whole file, and no temporary one."""
    with anyio.CancelScope() as scope:
        scope.cancel()
        await save(archive, "output", "c1")
    found = paths(tmp_path / "archive") if (tmp_path / "archive").exists() else []
    assert found in ([], ["tool-results/s1/c1.txt"])


async def test_deleting_a_session_leaves_the_others(
    archive: FileCompactionArchive, tmp_path: Path
) -> None:
    """Everything of one conversation goes, its folders too, and nothing of another."""
    await save(archive, "one", "c1")
    await archive.save_transcript(ENTRIES, ctx=CTX, reason="x")
    await save(archive, "two", "c1", session_id="s2")
    assert await archive.delete("s1") == 2
    assert paths(tmp_path / "archive") == ["tool-results/s2/c1.txt"]
    assert not (tmp_path / "archive" / "tool-results" / "s1").exists()
    assert await archive.delete("s1") == 0
    assert await archive.delete("../s2") == 0


async def aged(archive: FileCompactionArchive, tmp_path: Path) -> None:
    """Save five results, one a day, the newest now."""
    for day in range(5):
        ref = await save(archive, f"day {day}", f"c{day}", session_id=f"s{day % 2}")
        when = (tmp_path / ref.uri).stat().st_mtime - day * 86_400
        os.utime(tmp_path / ref.uri, (when, when))


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"older_than": timedelta(days=1, hours=1)}, {"c0", "c1"}),
        ({"older_than": 2.5 * 86_400}, {"c0", "c1", "c2"}),
        ({"keep": 2}, {"c0", "c1"}),
        ({"keep": 0}, set()),
        ({"older_than": timedelta(hours=1), "keep": 3}, {"c0", "c1", "c2"}),
        ({"older_than": timedelta(days=10), "keep": 1}, {"c0", "c1", "c2", "c3", "c4"}),
    ],
)
async def test_pruning_removes_what_is_old(
    archive: FileCompactionArchive, tmp_path: Path, options: dict[str, Any], left: set[str]
) -> None:
    """Old files go but for the newest ones that are to be kept, wherever they are."""
    await aged(archive, tmp_path)
    assert await archive.prune(**options) == 5 - len(left)
    assert {path.rpartition("/")[2].removesuffix(".txt") for path in paths(tmp_path)} == left


async def test_pruning_clears_up(archive: FileCompactionArchive, tmp_path: Path) -> None:
    """Rests of interrupted writes and empty folders go; a write that is going on does not."""
    await save(archive, "output", "c1")
    folder = tmp_path / "archive" / "tool-results" / "s1"
    for name, age in ((".fresh.tmp", 0), (".old.tmp", 90_000)):
        (folder / name).write_bytes(b"half")
        os.utime(folder / name, (folder.stat().st_mtime - age,) * 2)
    assert await archive.prune(keep=10) == 0
    assert {path.name for path in folder.iterdir()} == {".fresh.tmp", "c1.txt"}
    assert await archive.delete("s1") == 1
    assert not folder.exists()


@pytest.mark.parametrize("options", [{}, {"older_than": -1}, {"keep": -1}])
async def test_pruning_needs_a_limit(
    archive: FileCompactionArchive, options: dict[str, Any]
) -> None:
    """Pruning without a limit, or with a negative one, is a mistake and removes nothing."""
    with pytest.raises(UserError, match="prune"):
        await archive.prune(**options)


async def test_an_archive_that_was_never_used_is_empty(archive: FileCompactionArchive) -> None:
    """Deleting from and pruning a folder that is not there yet does nothing."""
    assert await archive.delete("s1") == 0
    assert await archive.prune(keep=1) == 0


async def test_each_write_is_a_span(archive: FileCompactionArchive, telemetry: Telemetry) -> None:
    """A write is traced with its size, and a failed one as an error."""
    await archive.save_transcript(ENTRIES, ctx=CTX, reason="x")
    facts = telemetry.attributes("archive_write")
    assert facts[names.ARCHIVE_STORE] == "file"
    assert facts[names.ARCHIVE_ENTRIES] == len(ENTRIES)
    assert facts[names.ARCHIVE_SIZE] > 0
    with pytest.raises(ArchiveError):
        await save(FileCompactionArchive("/dev/null"), "output", "c1")
    failed = telemetry.attributes("archive_write")
    assert failed[names.ERROR_TYPE] == "ArchiveError"
