"""Rooms import in one direction only."""

from __future__ import annotations

import pytest

from tests.meta.architecture import table
from tests.meta.source import Import, Module, imports, modules

# Each room, what it may import when it runs, and what it may name in annotations beyond that.
# docs/architecture.md states the same table for people.
_BASE = {"base"}
_DATA = _BASE | {"transcript"}
_SIZES = _DATA | {"tokens"}
_CALLS = _SIZES | {"providers"}
_VIEWS = _CALLS | {"events", "tools"}
_RUNS = _VIEWS | {"context", "hooks", "stores"}
ARROWS: dict[str, tuple[set[str], set[str]]] = {
    "base": (set(), set()),
    "transcript": (_BASE, set()),
    "tokens": (_DATA, set()),
    "providers": (_SIZES, set()),
    "events": (_DATA, {"context", "runtime"}),
    "tools": (_DATA, {"runtime"}),
    "context": (_VIEWS, set()),
    "hooks": (_DATA | {"events"}, {"runtime"}),
    "stores": (_VIEWS | {"context"}, set()),
    "runtime": (_RUNS, set()),
    "testing": (_CALLS | {"context"}, set()),
    "replay": (_RUNS | {"runtime", "testing"}, set()),
    "demo": (_RUNS | {"runtime", "testing", "replay"}, set()),
    "cli": (_RUNS | {"runtime", "testing", "replay", "demo"}, set()),
}

_BASE_MODULES = {"errors", "usage", "cancellation", "retry"}
_COMMAND_MODULES = {"__main__", "cli"}


def room_of(name: str) -> str | None:
    """Return the room of the module `name`, or None for the package itself, which re-exports."""
    first = name.split(".")[1] if "." in name else None
    if first in _BASE_MODULES:
        return "base"
    return "cli" if first in _COMMAND_MODULES else first


@pytest.mark.parametrize("module", modules("lovia"), ids=str)
def test_a_module_imports_only_from_rooms_below_it(module: Module) -> None:
    """No import inside lovia goes against the arrows; the package root is imported by nobody."""
    room = room_of(module.name)
    if room is None:
        return  # lovia/__init__.py re-exports the rooms
    assert room in ARROWS, f"{module.name} is in a room that has no arrows: {room}"
    wrong = [f"line {i.line}: {i.target}" for i in imports(module) if not _allowed(i, room)]
    assert not wrong, f"{module.name} (room {room}) may not import " + "; ".join(wrong)


def _allowed(imported: Import, room: str) -> bool:
    if imported.target.split(".")[0] != "lovia":
        return True
    target = room_of(imported.target)
    running, typing = ARROWS[room]
    if target is None:  # `import lovia`, or the first half of `from lovia import x`
        return room == "cli"
    return target == room or target in running or (imported.type_only and target in typing)


@pytest.mark.parametrize("module", modules("lovia_otel"), ids=str)
def test_the_instrumentation_never_imports_the_runtime(module: Module) -> None:
    """`lovia_otel` works beside any package named lovia, so it imports none."""
    assert not [i for i in imports(module) if i.target.split(".")[0] == "lovia"]


def test_the_arrows_have_no_cycle() -> None:
    """Rooms can be put in an order in which each imports only from earlier ones."""
    remaining = {room: set(running) for room, (running, _) in ARROWS.items()}
    while remaining:
        free = {room for room, needs in remaining.items() if not needs & remaining.keys()}
        assert free, f"these rooms import each other in a circle: {sorted(remaining)}"
        for room in free:
            del remaining[room]


def test_the_document_states_the_same_arrows() -> None:
    """The table of rooms in docs/architecture.md is the table that the tests enforce."""
    stated = {room: (_names(running), _names(typing)) for room, running, typing in table("room")}
    assert stated == ARROWS


def _names(cell: str) -> set[str]:
    return {name.strip() for name in cell.replace("–", "").split(",") if name.strip()}
