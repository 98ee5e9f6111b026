"""From words to a policy."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING

import pytest

from lovia import CompactingContextPolicy, ExtractiveSummarizer, FileCompactionArchive
from lovia.cli.settings import contender, is_policy_word, settable, summarizer_of
from lovia.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path


def test_every_number_of_the_policy_can_be_set() -> None:
    """Each keyword of the constructor can be written, but for those that only code can give."""
    only_code = {"summarizer", "on_compacted", "stages", "pinned", "name"}
    keywords = set(inspect.signature(CompactingContextPolicy.__init__).parameters)
    assert set(settable()) == keywords - only_code - {"self", "old_names"}


@pytest.mark.parametrize(
    ("spec", "name", "value"),
    [
        ("trigger_ratio=0.7", "trigger_ratio", 0.7),
        ("trigger_tokens=12_000", "trigger_tokens", 12_000),
        ("trigger_tokens=none", "trigger_tokens", None),
        ("max_entries=none", "max_entries", None),
        ("keep_tools=read_file,search max_entries=9", "keep_tools", ("read_file", "search")),
        ("context_window_tokens=5000", "context_window_tokens", 5000),
        ("", "context_window_tokens", 9000),
    ],
)
def test_a_setting_arrives_with_its_type(spec: str, name: str, value: object) -> None:
    """Numbers, lists and nothing are read as what the keyword is."""
    policy = contender(spec, window=9000).build()
    assert isinstance(policy, CompactingContextPolicy)
    assert getattr(policy.options, name) == value


def test_a_window_among_the_settings_is_the_replay_s_too() -> None:
    """The window that the policy is told is also the one that refuses requests."""
    assert contender("context_window_tokens=5000", window=9000).window == 5000
    assert contender("noop", window=9000).window == 9000


def test_an_archive_is_a_folder(tmp_path: Path) -> None:
    """archive=FOLDER gives the policy a file archive there."""
    policy = contender(f"archive={tmp_path}", window=9000).build()
    assert isinstance(policy, CompactingContextPolicy)
    assert isinstance(policy.archive, FileCompactionArchive)


def test_a_policy_of_one_s_own_is_imported() -> None:
    """module:attribute names a class, a function or a policy; each recording gets a fresh one."""
    found = contender("lovia:NoopContextPolicy", window=9000)
    assert type(found.build()).__name__ == "NoopContextPolicy"
    assert found.build() is not found.build()


def test_a_policy_beside_the_files_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module in the current folder can be named, whichever way the command was started."""
    (tmp_path / "my_trial.py").write_text(
        "from lovia import NoopContextPolicy\n\ndef make():\n    return NoopContextPolicy()\n"
    )
    monkeypatch.setattr(sys, "path", sys.path[1:])
    monkeypatch.chdir(tmp_path)
    assert type(contender("my_trial:make", window=9000).build()).__name__ == "NoopContextPolicy"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("keep_recent=5", "keep_recent_entries"),
        ("zzz=5", "trigger_ratio"),
        ("max_entries=many", "a whole number or none"),
        ("trigger_ratio=none", "a number, not"),
        ("max_entries=0", "max_entries"),
        ("noop trigger_ratio=1", "no policy setting"),
        ("lovia:nothing", "lovia:nothing"),
        ("lovia.context:__all__", "neither is nor makes a policy"),
        ("token_counter=no-such-model", "no-such-model"),
    ],
)
def test_a_specification_that_cannot_be_meant_is_refused(spec: str, told: str) -> None:
    """What is wrong is named, with what would be right."""
    with pytest.raises(UserError, match=told) as caught:
        contender(spec, window=9000)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("trigger_ratio=0.7", True),
        ("noop", True),
        ("a.b:c", True),
        ("session.json", False),
        ("./x=y.json", False),
        ("default", False),
    ],
)
def test_settings_are_told_from_files(word: str, *, expected: bool) -> None:
    """A word with an equals sign after a name is a setting, a path is none."""
    assert is_policy_word(word) is expected


def test_summarizers() -> None:
    """The default summarizer asks no model; a vendor's is made with the vendor's provider."""
    assert summarizer_of("extractive") is ExtractiveSummarizer
    with pytest.raises(UserError, match="poetic"):
        summarizer_of("poetic")
