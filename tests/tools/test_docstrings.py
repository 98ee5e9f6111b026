"""Reading descriptions out of docstrings."""

from __future__ import annotations

import pytest

from lovia.tools.docstrings import read_docstring

GOOGLE = """Search the docs.

    Slow but thorough.

    Args:
        query: Search terms,
            more than one.
        limit (int): At most this many.
        *rest: What else.

    Returns:
        query: not a parameter.
    """
NUMPY = """Search the docs.

    Slow but thorough.

    Parameters
    ----------
    query : str
        Search terms,
        more than one.
    limit
        At most this many.
    *rest
        What else.

    Returns
    -------
    list
    """
SPHINX = """Search the docs.

    Slow but thorough.

    :param str query: Search terms,
        more than one.
    :param limit: At most this many.
    :param rest: What else.
    :returns: Something.
    :raises ValueError: Never.
    """


@pytest.mark.parametrize("style", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_three_styles_say_the_same(style: str) -> None:
    """Google, NumPy and Sphinx docstrings give the description and the parameters."""
    parsed = read_docstring(style)
    assert parsed.description == "Search the docs.\n\nSlow but thorough."
    assert parsed.parameters == {
        "query": "Search terms, more than one.",
        "limit": "At most this many.",
        "rest": "What else.",
    }


@pytest.mark.parametrize("empty", [None, "", "   \n "])
def test_no_docstring_is_an_empty_one(empty: str | None) -> None:
    """A function without docstring has no description."""
    assert read_docstring(empty).description == ""


def test_prose_with_colons_is_description() -> None:
    """A colon in prose opens no section."""
    parsed = read_docstring("Note this: it works.\n\nFormats: a, b.")
    assert parsed.description == "Note this: it works.\n\nFormats: a, b."
    assert parsed.parameters == {}
