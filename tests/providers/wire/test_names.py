"""Tests of the ids and names that go onto a wire."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from lovia.providers.wire.names import CallIds, ToolNames, tool_name
from tests.providers.support import tools

ALLOWED = r"[a-zA-Z0-9_-]{1,64}"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.just("call_1"), max_size=30))
def test_every_call_has_an_id_of_its_own(ids: list[str]) -> None:
    """Whatever the ids are, the wire's fit the vendor's rule and none is used twice."""
    given_out = CallIds(ALLOWED)
    wire = [given_out.take(one) for one in ids]
    assert len(set(wire)) == len(wire)
    assert all(re.fullmatch(ALLOWED, one) for one in wire)


def test_an_id_that_fits_stays() -> None:
    """A vendor sees the ids again that it gave out."""
    ids = CallIds(ALLOWED)
    assert ids.take("toolu_01D7FLrfh4GYq7yT1ULFeyMV") == "toolu_01D7FLrfh4GYq7yT1ULFeyMV"


def test_nine_letters_are_enough() -> None:
    """A vendor that wants nine letters and digits gets them."""
    ids = CallIds("[a-zA-Z0-9]{9}")
    assert ids.take("abc123XYZ") == "abc123XYZ"
    assert re.fullmatch("[a-zA-Z0-9]{9}", ids.take("call_0")) is not None


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
def test_every_tool_name_fits(name: str) -> None:
    """Whatever a model calls a tool, the name can be sent."""
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool_name(name))


def test_different_names_stay_different() -> None:
    """Names that differ in refused characters only are told apart; good names stay."""
    assert tool_name("read_file") == "read_file"
    assert tool_name("a.b") != tool_name("a b")


def test_names_come_back_as_they_were() -> None:
    """A call of a tool with a refused name reaches that tool; unknown names stay as written."""
    names = ToolNames(tools("a.b", "read"))
    assert names.own(tool_name("a.b")) == "a.b"
    assert names.own("read") == "read"
    assert names.own("invented") == "invented"
