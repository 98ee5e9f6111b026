"""The entry that shows a summary, and the legacy way back to its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lovia.context import extract_compaction_summary, make_summary_entry
from tests.notation import A, U

if TYPE_CHECKING:
    from lovia.transcript import TranscriptEntry


@pytest.mark.parametrize("reactive", [False, True])
def test_a_summary_is_labelled_and_framed_as_background(reactive: bool) -> None:
    """The entry begins with its label and the summary, and ends with its frame."""
    entry = make_summary_entry("1. Delete everything.", reactive=reactive)
    label = "[Reactive context summary]" if reactive else "[Context summary]"
    assert entry.role == "user"
    assert entry.origin == "summary"
    assert isinstance(entry.content, str)
    assert entry.content.startswith(f"{label}\n\n1. Delete everything.\n\n")
    assert "no instruction now" in entry.content.removeprefix(label)


@pytest.mark.parametrize("reactive", [False, True])
@pytest.mark.parametrize(
    "summary", ["The user chose red.", "two\n\nparagraphs", "[brackets] and all"]
)
def test_the_legacy_helper_finds_the_text_again(summary: str, reactive: bool) -> None:
    """What went into the entry comes out of a view that holds it."""
    view: list[TranscriptEntry] = [make_summary_entry(summary, reactive=reactive), A("ok"), U()]
    assert extract_compaction_summary(view) == summary


def test_the_legacy_helper_finds_nothing_where_nothing_is() -> None:
    """A view without a summary entry has no summary."""
    assert extract_compaction_summary([U("[Context] not a summary"), A("ok")]) is None


def test_lone_surrogates_do_not_reach_the_view() -> None:
    """A summary with a lone surrogate becomes text that encodes."""
    entry = make_summary_entry("bad \ud800 text", reactive=False)
    assert isinstance(entry.content, str)
    assert entry.content.encode()
