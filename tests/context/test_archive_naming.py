"""File names for ids that anybody may have written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.context.archive.naming import (
    digest_of,
    is_safe_path_part,
    run_name,
    safe_name,
    session_name,
    stamp,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=120)
HOSTILE = [
    "",
    ".",
    "..",
    "../../x",
    "/etc/passwd",
    "C:\\windows\\system32",
    "\\\\server\\share",
    "a/b",
    "a\0b",
    "a\nb",
    "x" * 101,
    "x" * 1_500,
    "会话",
    "\ud800",
    "CON",
    "nul.txt",
    "Com1",
    "lpt9.tar.gz",
    "ends.",
    "ends ",
    ".hidden",
    "a:b",
    "a*?",
    "~root",
    "x~0123456789abcdef0123",
    "no-session",
    "no-run",
    "%2e%2e%2f",
    "-" * 300,
]


@pytest.mark.parametrize(
    "name", ["s1", "call_123", "call_AbC-9", "toolu_01", "a.b", "-rf", "x" * 100]
)
def test_a_harmless_id_names_its_file_as_it_is(name: str) -> None:
    """A digest is added only where it is needed."""
    assert safe_name(name) == name


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_id_becomes_a_harmless_name(text: str) -> None:
    """Whatever an id holds, its name is one bounded part of a path, and not the id."""
    name = safe_name(text)
    assert is_safe_path_part(name)
    assert len(name) <= 100
    assert name != text
    assert name == safe_name(text)


def test_hostile_ids_keep_apart() -> None:
    """No two hostile ids share a name, not even where letter case does not count."""
    assert len({safe_name(text).casefold() for text in HOSTILE}) == len(HOSTILE)


@given(ANY_TEXT, ANY_TEXT)
def test_distinct_ids_have_distinct_names(one: str, other: str) -> None:
    """Two ids share a name only if they are the same."""
    assert (safe_name(one) == safe_name(other)) == (one == other)
    assert is_safe_path_part(safe_name(one))


@given(ANY_TEXT)
def test_no_id_imitates_a_made_name(text: str) -> None:
    """The name made for one id is never the plain name of another."""
    made = safe_name(text, plain=False)
    assert safe_name(made) != made


def test_missing_ids_have_names_that_no_id_has() -> None:
    """Without session or run the names are stable, and an id cannot claim them."""
    assert session_name(None, None) == "no-session"
    assert run_name(None) == "no-run"
    assert session_name("no-session", None) != "no-session"
    assert session_name("NO-session", None).casefold() != "no-session"
    assert run_name("no-run") != "no-run"


def test_runs_without_a_session_keep_apart() -> None:
    """Each run without a conversation has its own folder, the same one every time."""
    assert session_name(None, "r1") == session_name(None, "r1")
    assert session_name(None, "r1") != session_name(None, "r2")
    assert session_name("s1", "r1") == session_name("s1", "r2") == "s1"
    assert session_name(None, "r1") == "no-session~run-r1"
    assert not session_name("no-session", None).startswith("no-session~run-")


def test_digests_of_different_kinds_differ() -> None:
    """What is digested as an id never gives the digest of a content."""
    assert digest_of("x", kind="id") != digest_of("x", kind="content")
    assert digest_of("é", kind="id") == digest_of("é".encode(), kind="id")


def test_a_stamp_sorts_by_time_in_utc() -> None:
    """A moment becomes digits to the microsecond, whatever its time zone."""
    moment = datetime(2026, 11, 30, 1, 2, 3, 45, tzinfo=timezone(timedelta(hours=2)))
    assert stamp(moment) == "20261129T230203000045Z"
    assert stamp(moment) < stamp(moment + timedelta(microseconds=1)) < stamp(datetime.now(UTC))
