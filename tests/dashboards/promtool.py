"""Where promtool is, and asking it what expressions give for made-up series."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.backends.binaries import PROMETHEUS

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Promtool:
    """Prometheus's own tool for rules and expressions."""

    path: str

    def run(self, *arguments: str, cwd: Path) -> None:
        """Run it.

        Raises:
            AssertionError: It finds fault; its words are in the message.
        """
        done = subprocess.run(
            [self.path, *arguments], cwd=cwd, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"

    def expect(
        self,
        folder: Path,
        expr: str,
        series: Mapping[str, str],
        values: Mapping[str, float],
        *,
        minutes: int = 60,
    ) -> None:
        """Check what an expression gives.

        Args:
            folder: Where the test's file may be written.
            expr: The expression.
            series: The values of series, one a minute, in promtool's notation.
            values: What is expected, by the labels; empty for no result at all.
            minutes: When to ask; half a minute later, since versions of Prometheus differ in
                whether a value at the very edge of a window is in it.
        """
        samples = [{"labels": labels, "value": value} for labels, value in values.items()]
        asked: dict[str, Any] = {
            "expr": expr,
            "eval_time": f"{minutes}m30s",
            "exp_samples": samples,
        }
        inputs = [{"series": name, "values": text} for name, text in series.items()]
        test = {"interval": "1m", "input_series": inputs, "promql_expr_test": [asked]}
        file = folder / "test.yml"
        file.write_text(yaml.safe_dump({"tests": [test], "evaluation_interval": "1m"}))
        self.run("test", "rules", file.name, cwd=folder)


def find_promtool() -> str | None:
    """Return where promtool is: where PROMTOOL says, among the built backends, or on the path."""
    named = [os.environ.get("PROMTOOL"), PROMETHEUS.program("promtool")]
    found = [str(path) for path in named if path and Path(path).is_file()]
    return found[0] if found else shutil.which("promtool")


@pytest.fixture
def promtool() -> Promtool:
    """Return promtool, or skip the test where there is none."""
    path = find_promtool()
    if path is None:
        pytest.skip("promtool is not there: run `make backends`, or name the binary in PROMTOOL")
    return Promtool(path)
