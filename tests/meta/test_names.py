"""Telemetry names stand in one file."""

from __future__ import annotations

import ast
import re

import pytest

from tests.meta.source import Module, modules

_NAMES_FILE = "lovia_otel.names"
_DOTTED = re.compile(r"(gen_ai|lovia)(\.[a-z_]+)+")
_ALL = [module for package in ("lovia", "lovia_otel") for module in modules(package)]
_ROOMS = {module.name for module in _ALL} | {module.name.rpartition(".")[0] for module in _ALL}


def _strings(module: Module) -> list[tuple[int, str]]:
    """Return each string constant of a module with its line, docstrings left out."""
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


def _group(name: str) -> str:
    """Return the first two words of a dotted name, which telemetry names share by the group."""
    return ".".join(name.split(".")[:2])


_GROUPS = {
    _group(text)
    for module in _ALL
    if module.name == _NAMES_FILE
    for _, text in _strings(module)
    if _DOTTED.fullmatch(text)
}


def test_the_names_file_has_names() -> None:
    """The file that the next test is about is where it is looked for, and full of names."""
    assert {"gen_ai.agent", "lovia.context", "lovia.compaction"} <= _GROUPS


@pytest.mark.parametrize("module", [m for m in _ALL if m.name != _NAMES_FILE], ids=str)
def test_a_telemetry_name_is_written_once(module: Module) -> None:
    """Outside `lovia_otel/names.py` no string is the name of an attribute, metric or event."""
    found = [
        f"line {line}: {text!r}"
        for line, text in _strings(module)
        if _DOTTED.fullmatch(text) and _group(text) in _GROUPS and text not in _ROOMS
    ]
    assert found == []
