"""The instrumentor on our own line: it finds nothing to do, and needs its extra."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lovia
import lovia_otel
from lovia import Agent, Runner
from lovia.testing import ScriptedProvider, text
from lovia_otel import (
    LoviaInstrumentor,
    MissingInstrumentationError,
    Price,
    PriceTable,
    PriceTableError,
    names,
    read_recording,
)
from lovia_otel.foreign.lovia09.patches import Patches
from lovia_otel.prices.current import current_prices
from tests.paths import REPO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.otel.conftest import Telemetry


@pytest.fixture
def _instrumented() -> Iterator[None]:
    """Instrument for the length of a test."""
    LoviaInstrumentor().instrument()
    yield
    LoviaInstrumentor().uninstrument()


@pytest.mark.anyio
@pytest.mark.usefixtures("_instrumented")
async def test_our_own_line_gets_no_second_layer(telemetry: Telemetry) -> None:
    """A run under the instrumentor leaves each of its spans once."""
    await Runner.run(Agent(name="a", model=ScriptedProvider([text("end")])), "go")
    spans = sorted(span.name for span in telemetry.exported.get_finished_spans())
    assert spans == ["agent_turn", "chat scripted", "invoke_agent a"]


def test_prices_hold_while_it_is_instrumented(tmp_path: Path) -> None:
    """They are in force from `instrument` to `uninstrument`; a bad table instruments nothing."""
    table = PriceTable("EUR", {"p": {"m": Price(1, 1, 1, 1)}})
    before = current_prices()
    LoviaInstrumentor().instrument(prices=table)
    prices = current_prices()
    assert prices is not None
    assert prices.source is table
    LoviaInstrumentor().uninstrument()
    assert current_prices() is before
    with pytest.raises(PriceTableError):
        LoviaInstrumentor().instrument(prices=tmp_path / "none.toml")
    assert not LoviaInstrumentor().is_instrumented_by_opentelemetry
    assert current_prices() is before


@pytest.mark.usefixtures("_instrumented")
def test_no_class_of_our_own_line_is_touched() -> None:
    """Instrumenting changes nothing about the runner."""
    assert LoviaInstrumentor()._patches is None
    assert vars(lovia.Runner)["stream"].__func__.__module__.startswith("lovia.")


def test_the_entry_point_is_the_instrumentor() -> None:
    """What `opentelemetry-instrument` looks for is declared, installed, and loads."""
    project = tomllib.loads((REPO / "instrumentation" / "pyproject.toml").read_text())
    declared = project["project"]["entry-points"]["opentelemetry_instrumentor"]
    assert declared == {"lovia": "lovia_otel.instrumentor:LoviaInstrumentor"}
    (found,) = entry_points(group="opentelemetry_instrumentor", name="lovia")
    assert found.load() is LoviaInstrumentor


def test_without_its_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of the package works without opentelemetry-instrumentation."""
    monkeypatch.delitem(sys.modules, "lovia_otel.instrumentor", raising=False)
    monkeypatch.delattr(lovia_otel, "instrumentor", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.instrumentation.instrumentor", None)
    with pytest.raises(MissingInstrumentationError, match="lovia-otel"):
        lovia_otel.LoviaInstrumentor  # noqa: B018 - loading it is the test


def test_an_unknown_name_is_an_attribute_error() -> None:
    """The lazy name hides no typing error."""
    with pytest.raises(AttributeError, match="nonsense"):
        lovia_otel.nonsense  # noqa: B018 - loading it is the test


def test_an_unchanged_program_is_traced_once(tmp_path: Path) -> None:
    """`opentelemetry-instrument python app.py` exports a run of ours without a change in it."""
    app = tmp_path / "app.py"
    app.write_text(
        textwrap.dedent(
            """
            from lovia import Agent, Runner
            from lovia.testing import ScriptedProvider, text

            Runner.run_sync(Agent(name="a", model=ScriptedProvider([text("end")])), "go")
            """
        )
    )
    signals = ("TRACES", "METRICS", "LOGS")
    command = Path(sys.executable).with_name("opentelemetry-instrument")
    done = subprocess.run(
        [str(command), sys.executable, str(app)],
        env={**os.environ, **{f"OTEL_{name}_EXPORTER": "otlp_json_file" for name in signals}},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    recorded = tmp_path / "trace.jsonl"
    recorded.write_text("\n".join(x for x in done.stdout.splitlines() if x.startswith("{")))
    recording = read_recording(recorded)
    tree = [f"{'  ' * depth}{span.name}" for depth, span in recording.walk()]
    assert tree == ["invoke_agent a", "  agent_turn", "    chat scripted"]
    (tokens,) = recording.metric(names.METRIC_RUN_DURATION)
    assert tokens.count == 1


# --- replacing methods ---


class _Base:
    def work(self) -> str:
        """Work."""
        return "base"

    @staticmethod
    def alone() -> str:
        """Work alone."""
        return "alone"


class _Derived(_Base):
    pass


def _shouting(method: Callable[..., str]) -> Callable[..., str]:
    return lambda *args: method(*args).upper()


def test_methods_are_replaced_once_and_put_back() -> None:
    """An inherited method is replaced where it is defined; all are the same objects afterwards."""
    before = dict(vars(_Base))
    patches = Patches()
    for kind, name in ((_Derived, "work"), (_Base, "work"), (_Base, "alone"), (_Base, "none")):
        patches.method(kind, name, _shouting)
    assert (_Derived().work(), _Base.alone()) == ("BASE", "ALONE")
    assert "work" not in vars(_Derived)
    patches.undo()
    assert all(vars(_Base)[name] is value for name, value in before.items())
    assert (_Derived().work(), _Base.alone()) == ("base", "alone")


def test_a_class_that_cannot_be_changed_is_left_alone() -> None:
    """A class that is written in C stays as it is."""
    patches = Patches()
    patches.method(str, "upper", _shouting)
    assert "a".upper() == "A"
    patches.undo()
