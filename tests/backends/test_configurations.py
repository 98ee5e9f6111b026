"""The Collector accepts our configurations."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.backends.binaries import COLLECTOR
from tests.backends.stack import DASHBOARDS

if TYPE_CHECKING:
    from pathlib import Path

FILES = DASHBOARDS / "collector"


def complaint(file: Path) -> str:
    """Return what the Collector finds wrong with a configuration; empty for nothing."""
    command = [str(COLLECTOR.program("collector")), "validate", f"--config={file}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.usefixtures("_built")
def test_the_gateway_s_is_valid() -> None:
    """The file is valid as it is, without any variable set."""
    assert complaint(FILES / "gateway.yml") == ""


@pytest.mark.usefixtures("_built")
def test_the_agent_s_is_valid(tmp_path: Path) -> None:
    """So is the other, as far as this Collector goes: it has no exporter that balances loads."""
    config: dict[str, Any] = yaml.safe_load((FILES / "agent.yml").read_text(encoding="utf-8"))
    del config["exporters"]["loadbalancing"]
    config["service"]["pipelines"]["traces"]["exporters"] = ["otlp_http"]
    file = tmp_path / "agent.yml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    assert complaint(file) == ""


@pytest.mark.usefixtures("_built")
def test_a_slip_is_found(tmp_path: Path) -> None:
    """A time that is none is refused, by its place: the tests above can fail."""
    text = (FILES / "gateway.yml").read_text(encoding="utf-8")
    file = tmp_path / "gateway.yml"
    file.write_text(text.replace("decision_wait: 60s", "decision_wait: soon"), encoding="utf-8")
    assert "decision_wait" in complaint(file)
