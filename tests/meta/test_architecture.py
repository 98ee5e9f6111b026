"""docs/architecture.md describes the house as it is built."""

from __future__ import annotations

import inspect

from lovia import CompactingContextPolicy
from tests.meta.architecture import Line, built, in_line, table, tree
from tests.paths import REPO


def test_everything_in_the_tree_exists() -> None:
    """Each path that the tree names is a file or folder of the checkout."""
    gone = [line.path for line in tree() if not (REPO / line.path).exists()]
    assert gone == [], "run `python -m tests.meta.architecture`"


def test_every_module_is_in_the_tree() -> None:
    """Each module and each package of both distributions has its line."""
    stated = {line.path for line in tree()}
    missing = [line.path for line in built() if line.path not in stated]
    assert missing == [], "run `python -m tests.meta.architecture`, and shorten what it says"


def test_every_line_of_the_tree_says_what_is_there() -> None:
    """No path stands in the tree without a description, and none stands there twice."""
    lines = tree()
    assert [line.path for line in lines if not line.description] == []
    assert len({line.path for line in lines}) == len(lines)


def test_the_tree_can_be_brought_in_line() -> None:
    """A new module gets its line where it belongs, a missing one loses it, nothing else changes."""
    lines = in_line(tree())
    place = next(i for i, line in enumerate(lines) if line.path == "lovia/transcript/pairing.py")
    gone = Line("lovia/transcript/no_such_module.py", "gone")
    changed = [*lines[:place], gone, *lines[place + 1 :]]
    assert [line.path for line in in_line(changed)] == [line.path for line in lines]


def test_the_stated_defaults_are_the_defaults() -> None:
    """The table of settings lists every parameter of the policy, in order, with its default."""
    stated = [(name, default) for name, default, *_ in table("parameter")]
    parameters = inspect.signature(CompactingContextPolicy).parameters.values()
    assert stated == [
        (parameter.name, _plain(parameter.default))
        for parameter in parameters
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]


def _plain(default: object) -> str:
    return f"{default:_}" if type(default) is int else repr(default)
