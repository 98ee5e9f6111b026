"""What is archived stays where it belongs, and an archive that fails costs the archive alone."""

from __future__ import annotations

import logging
import os
import stat
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia.context import FileCompactionArchive, PolicyContext
from lovia.errors import ArchiveError
from lovia.transcript import ToolResultEntry
from tests.cases.support import Conversation, policy_of, summaries
from tests.notation import A, C, S, T, U

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lovia.context import ArchiveRef
    from lovia.transcript import TranscriptEntry

pytestmark = pytest.mark.anyio
SETTINGS: dict[str, Any] = {
    "context_window_tokens": 2_000,
    "max_entries": None,
    "large_tool_result_chars": 1_000,
    "tool_result_preview_chars": 100,
}
#: Ids as models and gateways have really written them, and as an attacker would.
IDS = {
    "climbing": "../../x",
    "absolute": "/etc/passwd",
    "other_session": "../s2/call_0",
    "windows": "..\\..\\x",
    "drive": "C:x",
    "device": "NUL",
    "nothing": "",
    "dot": ".",
    "dots": "..",
    "hidden": ".ssh",
    "long": "call_" + "a" * 295,
    "very_long": "gemini-" + "Q2hhbmdl+/=" * 140,
    "nul": "a\0b",
    "line_end": "a\nb",
    "spaces": "  ",
    "lone_half": "\ud800",
    "emoji": "📎" * 100,
    "tilde": "~root",
    "glob": "*",
}


def tree(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, links not followed."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def uri_in(entry: TranscriptEntry) -> str | None:
    """Return the address that a marker promises, if it promises one."""
    assert isinstance(entry, ToolResultEntry)
    _, promised, rest = entry.output.partition("archived at: ")
    return rest.partition("\n")[0] if promised else None


@pytest.mark.parametrize("call_id", IDS.values(), ids=IDS)
async def test_no_call_id_leads_out_of_the_archive(call_id: str, tmp_path: Path) -> None:
    """Whatever a call is called, its result lies under the root, and its address gives it back."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("not yours")
    archive = FileCompactionArchive(tmp_path / "root")
    talk = Conversation(
        policy_of(**SETTINGS, archive=archive), U("go"), C(call_id), session_id="s1"
    )
    output = "found it here\n" * 400
    marker = (await talk.view(T(call_id, output))).entries[-1]
    uri = uri_in(marker)
    assert uri is not None
    assert await archive.load(uri) == output
    kept = tree(tmp_path / "root" / "tool-results" / "s1")
    assert list(kept.values()) == [output.encode()]
    assert all(len(name.encode()) < 200 for name in kept)
    assert tree(outside) == {"x": b"not yours"}
    assert len(tree(tmp_path)) == 2


async def test_many_hostile_ids_share_no_file(tmp_path: Path) -> None:
    """Results of different calls never overwrite each other, also when ids differ in case alone."""
    archive = FileCompactionArchive(tmp_path)
    talk = Conversation(policy_of(**SETTINGS, archive=archive), U("go"), session_id="s1")
    ids = [*IDS.values(), "Call", "call", "CALL", "call", "call_" + "a" * 296]
    outputs = [f"result {number} " * 300 for number in range(len(ids))]
    for call_id, output in zip(ids, outputs, strict=True):
        view = (await talk.view(C(call_id), T(call_id, output))).entries
        uri = uri_in(view[-1])
        assert uri is not None
        assert await archive.load(uri) == output
    assert sorted(tree(tmp_path / "tool-results").values()) == sorted(o.encode() for o in outputs)


@pytest.mark.parametrize(
    "address",
    [
        "{root}/tool-results/s2/call_0.txt",
        "{root}/../outside/x",
        "/etc/passwd",
        "file:///etc/passwd",
    ],
)
async def test_an_address_of_something_else_is_refused(address: str, tmp_path: Path) -> None:
    """Only what the archive gave out can be read through it, and only by its own session."""
    root = tmp_path / "root"
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("not yours")
    archive = FileCompactionArchive(root)
    other = Conversation(policy_of(**SETTINGS, archive=archive), U("go"), session_id="s2")
    await other.view(C("call_0"), T("call_0", "the other's " * 200))
    address = address.format(root=root.as_posix())
    assert not archive.owns(address, session_id="s1")
    if "s2" not in address:
        with pytest.raises(ArchiveError):
            await archive.load(address)


@pytest.mark.parametrize("where", ["tool-results", "tool-results/s1"])
async def test_a_link_in_the_archive_is_not_followed(
    where: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A folder that somebody replaced by a link gets nothing; the view shrinks all the same."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    (root / where).parent.mkdir(parents=True)
    (root / where).symlink_to(outside)
    talk = Conversation(
        policy_of(**SETTINGS, archive=FileCompactionArchive(root)), U("go"), session_id="s1"
    )
    with caplog.at_level(logging.WARNING, "lovia.context"):
        result = await talk.view(C("a"), T("a", "secret " * 1_000))
    assert tree(outside) == {}
    assert uri_in(result.entries[-1]) is None
    assert "could not be archived" in caplog.text


class Broken:
    """An archive that fails in one way or another."""

    def __init__(self, how: Any) -> None:
        self.how = how

    async def save_transcript(self, entries: Any, *, ctx: PolicyContext, reason: str) -> Any:
        """Fail, or return what is no reference."""
        await anyio.lowlevel.checkpoint()
        if isinstance(self.how, Exception):
            raise self.how
        return self.how

    async def save_tool_result(self, output: str, *, call_id: str, ctx: PolicyContext) -> Any:
        """Fail, or return what is no reference."""
        return await self.save_transcript([], ctx=ctx, reason="")

    async def load(self, ref: ArchiveRef | str) -> str:
        """Fail."""
        raise self.how


BROKEN: dict[str, Any] = {
    "read_only": OSError(30, "Read-only file system"),
    "disk_full": OSError(28, "No space left on device"),
    "name_too_long": OSError(36, "File name too long"),
    "its_own_error": ArchiveError("not now"),
    "timeout": TimeoutError(),
    "client_error": RuntimeError("AccessDenied"),
    "bug": KeyError("bucket"),
    "group": ExceptionGroup("several", [OSError(1, "one")]),
    "returns_nothing": None,
    "returns_a_number": 7,
}


@pytest.mark.parametrize("how", BROKEN.values(), ids=BROKEN)
async def test_a_failing_archive_stops_no_pass_and_promises_nothing(
    how: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Large results shrink to a preview, the middle is summarised, and the failure is logged."""
    policy = policy_of(**SETTINGS, archive=Broken(how))
    talk = Conversation(policy, S())
    with caplog.at_level(logging.WARNING, "lovia.context"):
        for number in range(12):
            result = await talk.view(
                *(U(f"u{number}", tokens=90), C("a"), T("a", f"r{number}", tokens=400)),
                A(f"a{number}", tokens=90),
            )
            assert result.outcome in {None, "compacted", "noop"}
            assert result.archive_ref is None
            assert not any("archived at" in str(entry) for entry in result.entries)
    view = (await talk.view()).entries
    assert summaries(view)
    shown = [entry for entry in view if isinstance(entry, ToolResultEntry)]
    assert shown
    assert all(len(entry.output) < 300 for entry in shown)
    assert "could not be archived" in caplog.text


async def test_an_archive_that_recovers_gets_what_it_missed(tmp_path: Path) -> None:
    """Entries that could not be archived are offered again with the next pass, each once."""
    archive: Any = FileCompactionArchive(tmp_path)
    policy = policy_of(**{**SETTINGS, "context_window_tokens": None}, archive=archive)
    talk = Conversation(policy, S())
    policy.archive = Broken(OSError(28, "full"))
    for number in range(8):
        await talk.view(U(f"u{number}"), A(f"a{number}", tokens=300))
    first = await talk.compacted()
    assert (first.outcome, first.archive_ref) == ("compacted", None)
    policy.archive = archive
    for number in range(8, 16):
        await talk.view(U(f"u{number}"), A(f"a{number}", tokens=300))
    second = await talk.compacted()
    assert second.archive_ref is not None
    kept = await archive.load(second.archive_ref)
    hidden = [entry for entry in talk.transcript if entry not in second.entries]
    assert kept == hidden


async def test_an_interrupted_write_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the disk fills up in the middle of a write, no file with a part of the text remains."""

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    archive = FileCompactionArchive(tmp_path)
    talk = Conversation(policy_of(**SETTINGS, archive=archive), U("go"), session_id="s1")
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        broken = await talk.view(C("a"), T("a", "text " * 1_000))
    assert uri_in(broken.entries[-1]) is None
    assert tree(tmp_path) == {}
    whole = await talk.view(C("b"), T("b", "text " * 1_000))
    assert await archive.load(str(uri_in(whole.entries[-1]))) == "text " * 1_000


@pytest.fixture
def _strict_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_strict_umask")
async def test_nobody_else_can_read_the_archive(tmp_path: Path) -> None:
    """Files are readable by their owner alone, in folders that only the owner enters."""
    root = tmp_path / "root"
    talk = Conversation(policy_of(**SETTINGS, archive=FileCompactionArchive(root)), U("go"))
    for number in range(12):
        await talk.view(C("a"), T("a", f"r{number}", tokens=400), A(tokens=200), U("next"))
    modes = {
        stat.S_IMODE(path.stat().st_mode) for path in (root, *root.rglob("*")) if path.is_dir()
    }
    assert modes == {0o700}
    modes = {stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert {path.suffix for path in root.rglob("*") if path.is_file()} == {".txt", ".jsonl"}


async def test_an_archive_can_be_kept_within_bounds(tmp_path: Path) -> None:
    """Old files go by age or number, a conversation's as a whole; views stay valid without them."""
    archive = FileCompactionArchive(tmp_path)
    talk = Conversation(policy_of(**SETTINGS, archive=archive), U("go"), session_id="s1")
    for number in range(20):
        await talk.view(C("a"), T("a", f"r{number}", tokens=400), A(tokens=60), U("next"))
    grown = len(tree(tmp_path))
    assert grown > 20
    assert await archive.prune(older_than=timedelta(days=1)) == 0
    assert await archive.prune(keep=5) == grown - 5
    assert len(tree(tmp_path)) == 5
    before = (await talk.view()).entries
    assert await archive.delete("s1") == 5
    assert tree(tmp_path) == {}
    assert (await talk.view()).entries == before
