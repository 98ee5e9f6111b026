"""docs/architecture.md describes the house as it is built."""

from __future__ import annotations

import ast
import inspect

from lovia import CompactingContextPolicy
from tests.meta.architecture import table, tree
from tests.meta.source import modules
from tests.paths import REPO


def test_everything_in_the_tree_exists() -> None:
    """Each path that the tree names is a file or folder of the checkout."""
    assert [line.path for line in tree() if not (REPO / line.path).exists()] == []


def test_every_module_is_in_the_tree() -> None:
    """Each module of both distributions has its line, but for a package's own re-exports."""
    stated = {line.path for line in tree()}
    missing = {
        path: (ast.get_docstring(module.tree) or "").partition("\n")[0]
        for package in ("lovia", "lovia_otel")
        for module in modules(package)
        if module.path.name != "__init__.py"
        and (path := module.path.relative_to(REPO).as_posix()) not in stated
    }
    assert missing == {}, "say in docs/architecture.md what these are"


def test_every_line_of_the_tree_says_what_is_there() -> None:
    """No path stands in the tree without a description, and none stands there twice."""
    lines = tree()
    assert [line.path for line in lines if not line.description] == []
    assert len({line.path for line in lines}) == len(lines)


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
