"""A name for the content of policies' memory."""

from __future__ import annotations

from typing import Any

import pytest

from lovia import UserError
from lovia.runtime.policy_memory import revision_of

BASE: dict[str, Any] = {"p": {"a": 1, "b": {"revision": "x", "data": 1}}, "q": {}}


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"q": {}, "p": {"b": {"revision": "x", "data": 1}, "a": 1}}, True),
        ({**BASE, "p": {"a": 1, "b": {"revision": "x", "data": 2}}}, True),
        ({**BASE, "p": {"a": 1, "b": {"revision": "y", "data": 1}}}, False),
        ({**BASE, "p": {"a": 2, "b": {"revision": "x", "data": 1}}}, False),
        ({**BASE, "q": {"c": 1}}, False),
        ({**BASE, "q": 7}, False),
        ({}, False),
    ],
)
def test_another_content_has_another_name(other: dict[str, Any], same: bool) -> None:
    """Order does not matter; a part that names its content is taken by its word."""
    assert (revision_of(BASE) == revision_of(other)) is same


@pytest.mark.parametrize("odd", [object(), {1, 2}, b"x"])
def test_what_is_no_json_is_refused(odd: Any) -> None:
    """The error names the policy."""
    with pytest.raises(UserError, match=r"policy m\.P"):
        revision_of({"m.P": {"a": odd}})


def test_any_text_has_a_name() -> None:
    """Half of a surrogate pair is text like any other."""
    assert revision_of({"p": {"\ud800": "\udfff"}}) != revision_of({"p": {"\ud800": "x"}})
