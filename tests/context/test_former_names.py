"""Code of earlier releases goes on working, and is told what has a new name."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

import pytest

import lovia
from lovia.context import (
    CompactingContextPolicy,
    ContextPolicyResult,
    SummarizingContextPolicy,
    extract_compaction_summary,
    make_summary_entry,
)
from lovia.context.compat import as_result
from lovia.context.options import OLD_NAMES
from lovia.errors import UserError
from lovia.events import ContextCompacted
from tests.cases.support import Conversation, summaries
from tests.context.summarizer.fakes import PlainSummarizer
from tests.notation import COUNTER, A, S, U

if TYPE_CHECKING:
    from lovia.transcript import TranscriptEntry

VALUES: dict[str, float] = {
    "max_tokens": 5_000,
    "compact_at_ratio": 0.9,
    "keep_recent_messages": 12,
    "reactive_keep_recent_messages": 3,
}


@pytest.mark.parametrize("old", OLD_NAMES)
@pytest.mark.parametrize("kind", [CompactingContextPolicy, SummarizingContextPolicy])
def test_a_former_keyword_sets_what_has_a_new_name(old: str, kind: Any) -> None:
    """It draws one warning, which names the new keyword and the line that has to change."""
    with pytest.warns(DeprecationWarning, match=OLD_NAMES[old]) as caught:
        policy = kind(**{old: VALUES[old]})
    assert getattr(policy.options, OLD_NAMES[old]) == VALUES[old]
    assert [warning.filename for warning in caught] == [__file__]


def test_all_former_keywords_are_known() -> None:
    """The keywords that the former policy had are these."""
    assert set(OLD_NAMES) == set(VALUES)


def test_a_keyword_that_never_was_is_refused_with_the_nearest() -> None:
    """A misspelt setting is an error that names the one that was meant."""
    with pytest.raises(UserError, match="no setting 'keep_recent_entrys'") as caught:
        CompactingContextPolicy(keep_recent_entrys=3)
    assert caught.value.hint == "Did you mean keep_recent_entries?"


@pytest.mark.anyio
async def test_the_former_policy_is_the_new_one() -> None:
    """What it is called changes nothing about what it does."""
    said = [S(), *(entry for n in range(14) for entry in (U(f"u{n}", tokens=90), A(tokens=90)))]
    views = []
    for kind in (CompactingContextPolicy, SummarizingContextPolicy):
        policy = kind(3_000, max_entries=None, summarizer=PlainSummarizer(), token_counter=COUNTER)
        assert isinstance(policy, CompactingContextPolicy)
        result = await Conversation(policy, *said).view()
        assert result.reason == "auto_summary"
        assert summaries(result.entries)
        views.append(result.entries)
    assert views[0] == views[1]


@pytest.mark.parametrize("module", ["lovia", "lovia.events", "lovia.context"])
def test_the_former_event_is_the_new_one(module: str) -> None:
    """`ArchiveEvent` is found where it may be looked for, with a warning, and nothing else is."""
    place = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match="ContextCompacted"):
        assert place.ArchiveEvent is ContextCompacted
    assert "ArchiveEvent" not in place.__all__
    with pytest.raises(AttributeError, match="ArchivedEvent"):
        _ = place.ArchivedEvent


def test_importing_lovia_warns_of_nothing() -> None:
    """No former name is touched by whoever does not use it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in lovia.__all__:
            getattr(lovia, name)


@pytest.mark.parametrize("reactive", [False, True])
@pytest.mark.parametrize("text", ["It is done.", "## Goal\n\nport it\n\n## State\nhalf", "[odd]"])
def test_a_summary_is_found_in_the_list_of_a_former_policy(text: str, reactive: bool) -> None:
    """The legacy helper gives back what the entry was made of."""
    entries = [S(), make_summary_entry(text, reactive=reactive), U("go on")]
    assert extract_compaction_summary(entries) == text


@pytest.mark.parametrize("label", ["[Context summary]", "[Reactive context summary]"])
def test_a_summary_entry_of_the_former_form_is_understood(label: str) -> None:
    """A label and the text after it, without a frame, was all that there was."""
    assert extract_compaction_summary([U(f"{label}\n\nIt is done.")]) == "It is done."


@pytest.mark.parametrize(
    "entries",
    [[], [U("hello")], [A("[Context summary]\n\nno")], [U("see [Context summary]")]],
)
def test_no_summary_is_found_where_there_is_none(entries: list[TranscriptEntry]) -> None:
    """Text that only mentions the label is no summary, and an answer is none either."""
    assert extract_compaction_summary(entries) is None


class ReturnsAList:
    """A policy of earlier code."""

    def __init__(self, view: list[TranscriptEntry]) -> None:
        self.view = view


def test_a_list_is_a_result_and_draws_one_warning_for_its_class() -> None:
    """A bare list is taken as the view; its summary is looked for; the warning comes once."""
    transcript: list[TranscriptEntry] = [U("a"), A("b"), U("c")]
    view: list[TranscriptEntry] = [make_summary_entry("short", reactive=False), U("c")]
    policy = ReturnsAList(view)
    with pytest.warns(DeprecationWarning, match="ReturnsAList"):
        result = as_result(view, transcript, policy)
    assert (result.entries, result.changed, result.summary) == (view, True, "short")
    again = as_result(list(transcript), transcript, policy)
    assert (again.changed, again.summary, again.view) == (False, None, "original")
    whole = ContextPolicyResult(view, changed=True)
    assert as_result(whole, transcript, policy) is whole
