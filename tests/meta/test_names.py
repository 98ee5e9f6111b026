"""Telemetry names stand in one file."""

from __future__ import annotations

import ast
import re

import pytest

from tests.meta.source import Module, modules

_TELEMETRY_NAME = re.compile(r"(gen_ai|lovia)(\.[a-z_]+)+")
_MODULES = {module.name for package in ("lovia", "lovia_otel") for module in modules(package)}


def _strings(module: Module) -> list[tuple[int, str]]:
    """Return each string constant of a module that is not a docstring, with its line."""
    docstrings = {
        id(node.value)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        (node.lineno, node.value)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]


@pytest.mark.parametrize(
    "module",
    [m for p in ("lovia", "lovia_otel") for m in modules(p) if m.name != "lovia_otel.names"],
    ids=str,
)
def test_a_telemetry_name_is_written_once(module: Module) -> None:
    """Outside `lovia_otel/names.py` no string is the name of an attribute, metric or event."""
    found = [
        f"line {line}: {text!r}"
        for line, text in _strings(module)
        if _TELEMETRY_NAME.fullmatch(text) and text not in _MODULES
    ]
    assert found == []
