"""Private, atomic files, and no way through a link."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

import pytest

from lovia.context.archive import files

if TYPE_CHECKING:
    from pathlib import Path


def mode(path: Path) -> int:
    """Return the permissions of a file or folder."""
    return stat.S_IMODE(path.lstat().st_mode)


def test_folders_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    """Missing folders are made with 0700, and open ones inside the root are closed."""
    open_folder = tmp_path / "root" / "kind"
    open_folder.mkdir(parents=True, mode=0o755)
    open_folder.chmod(0o755)
    folder = files.enter(tmp_path / "root", "kind", "session", create=True)
    assert folder == open_folder / "session"
    assert mode(folder) == mode(open_folder) == 0o700


def test_a_missing_root_is_made_with_its_parents(tmp_path: Path) -> None:
    """An archive may be several folders deep."""
    root = tmp_path / "a" / "b"
    assert files.enter(root, "c", create=True).is_dir()
    assert mode(root) == 0o700


def test_looking_makes_nothing(tmp_path: Path) -> None:
    """Without `create` a missing folder is an error."""
    with pytest.raises(FileNotFoundError):
        files.enter(tmp_path, "missing")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("create", [True, False])
def test_a_linked_folder_is_not_entered(tmp_path: Path, create: bool) -> None:
    """A link among the folders is refused, wherever it leads."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "kind").symlink_to(outside)
    with pytest.raises(files.NotRegularError, match="no plain folder"):
        files.enter(tmp_path / "root", "kind", "session", create=create)
    assert list(outside.iterdir()) == []


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    """Where the archive as a whole lies is its owner's business."""
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "real")
    files.enter(tmp_path / "root", "kind", create=True)
    assert (tmp_path / "real" / "kind").is_dir()


def test_a_published_file_is_whole_and_private(tmp_path: Path) -> None:
    """A file appears with its content and 0600, and nothing else is left in the folder."""
    assert files.publish(tmp_path, "a.txt", b"content")
    assert (tmp_path / "a.txt").read_bytes() == b"content"
    assert mode(tmp_path / "a.txt") == 0o600
    assert files.names_in(tmp_path) == ["a.txt"]


def test_a_taken_name_stays_taken(tmp_path: Path) -> None:
    """Publishing never overwrites, unless it is asked to."""
    assert files.publish(tmp_path, "a.txt", b"first")
    assert not files.publish(tmp_path, "a.txt", b"second")
    assert (tmp_path / "a.txt").read_bytes() == b"first"
    assert files.publish(tmp_path, "a.txt", b"second", replace=True)
    assert (tmp_path / "a.txt").read_bytes() == b"second"
    assert files.names_in(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("replace", [True, False])
def test_a_planted_link_is_not_written_through(tmp_path: Path, replace: bool) -> None:
    """A link under the file's name is left alone or replaced; what it leads to never changes."""
    target = tmp_path / "target"
    target.write_bytes(b"precious")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").symlink_to(target)
    assert files.publish(folder, "a.txt", b"new", replace=replace) == replace
    assert target.read_bytes() == b"precious"


def test_without_hard_links_files_are_published_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file system without hard links a name is reserved first, and still never overwritten."""

    def no_links(*_: Any, **__: Any) -> None:
        raise PermissionError("no hard links here")

    monkeypatch.setattr(os, "link", no_links)
    assert files.publish(tmp_path, "a.txt", b"first")
    assert not files.publish(tmp_path, "a.txt", b"second")
    assert (tmp_path / "a.txt").read_bytes() == b"first"
    assert mode(tmp_path / "a.txt") == 0o600
    assert files.names_in(tmp_path) == ["a.txt"]


def test_an_interrupted_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the disk is full in the middle of a write, neither the file nor a part of it remains."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        files.publish(tmp_path, "a.txt", b"content")
    assert files.names_in(tmp_path) == []


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    """Links, folders and pipes are refused, a pipe without waiting for a writer."""
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "."):
        with pytest.raises(files.NotRegularError, match="no plain file"):
            files.read(tmp_path / name)
    assert files.read(tmp_path / "secret") == b"secret"


def test_contents_are_compared(tmp_path: Path) -> None:
    """`holds` is true for a plain file with exactly these bytes, and never raises."""
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert files.holds(tmp_path / "a", b"abc")
    assert not files.holds(tmp_path / "a", b"abd")
    assert not files.holds(tmp_path / "a", b"abcd")
    assert not files.holds(tmp_path / "link", b"abc")
    assert not files.holds(tmp_path / "missing", b"abc")


def test_a_walk_sees_plain_files_only(tmp_path: Path) -> None:
    """Links and folders are passed over, and rests of old writes are told from fresh ones."""
    (tmp_path / "a.txt").write_bytes(b"a")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a.txt")
    for name, age in (("fresh.tmp", 0), ("old.tmp", 7_200)):
        (tmp_path / name).write_bytes(b"")
        when = (tmp_path / name).stat().st_mtime - age
        os.utime(tmp_path / name, (when, when))
    found = {file.path.name: file for file in files.walk(tmp_path)}
    assert set(found) == {"a.txt", "fresh.tmp", "old.tmp"}
    assert [name for name, file in found.items() if file.stale] == ["old.tmp"]
    assert list(files.walk(tmp_path / "missing")) == []
