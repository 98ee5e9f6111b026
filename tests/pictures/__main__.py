"""Take the pictures of the documentation: `python -m tests.pictures [NAME ...]`.

The trace is the demo's, in Phoenix. The dashboards are a preview, drawn from a Prometheus that took
an hour's metrics of real runs; the runs are made at once, and reported as if minutes lay between.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from dashboards.preview.__main__ import main as preview
from tests.backends.past import Process
from tests.backends.servers import NotReadyError
from tests.backends.stack import Prometheus
from tests.dashboards import traffic
from tests.paths import REPO
from tests.pictures import phoenix
from tests.pictures.chromium import NoBrowserError, take

if TYPE_CHECKING:
    from collections.abc import Callable

IMAGES: Final = REPO / "docs" / "images"
_LOVIA: Final = Path(sys.executable).with_name("lovia")
_ROUNDS: Final = 12  # times that the fleet does its work
_DISTANCE: Final = 300  # seconds between two of them, as they are reported
_WIDTH: Final = 1_640
_BOARDS: Final = {"overview": 2_010, "stages": 1_380, "runs": 1_380}  # pixels of height


def report(folder: Path) -> None:
    """Take the picture of the demo's report."""
    _demo("--out", str(folder))
    take(str(folder / "report.html"), IMAGES / "report.png", width=1_280, height=1_370)


def trace(folder: Path) -> None:
    """Take the picture of a compaction pass in a trace viewer."""
    with phoenix.running(folder, _say) as address:
        _demo("--out", str(folder / "demo"), "--otlp", address)
        page = phoenix.trace_page(address, "compact_context")
        take(page, IMAGES / "trace.png", width=_WIDTH, height=1_000, settle=30_000)


def dashboards(folder: Path) -> None:
    """Take the pictures of the dashboards' preview."""
    prometheus = Prometheus(folder / "prometheus")
    with prometheus.server():
        _work(prometheus, folder)
        span = _ROUNDS * _DISTANCE
        pages = folder / "pages"
        told = ["--out", str(pages), "--seconds", str(span), "--interval", str(2 * _DISTANCE)]
        if preview([prometheus.url, *told]):
            raise SystemExit(1)
    for name, height in _BOARDS.items():
        target = IMAGES / f"dashboard-{name}.png"
        take(str(pages / f"{name}.html"), target, width=_WIDTH, height=height)


PICTURES: Final[dict[str, Callable[[Path], None]]] = {
    "report": report,
    "trace": trace,
    "dashboards": dashboards,
}


def main(arguments: list[str] | None = None) -> int:
    """Take them; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.pictures", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*PICTURES, []], help="all when none is named")
    for name in parser.parse_args(arguments).names or PICTURES:
        _say(f"taking {name}")
        with tempfile.TemporaryDirectory(prefix="lovia-pictures-") as folder:
            try:
                PICTURES[name](Path(folder))
            except (NoBrowserError, NotReadyError, LookupError) as problem:
                _say(str(problem))
                return 1
    return 0


def _demo(*flags: str) -> None:
    subprocess.run([str(_LOVIA), "demo", *flags], cwd=REPO, check=True, capture_output=True)


def _work(prometheus: Prometheus, folder: Path) -> None:
    """Let the fleet work time and again, and report each time as of some time ago."""
    process = Process("fleet")
    try:
        for number in range(_ROUNDS + 1):
            with process.working():
                anyio.run(_one_round, folder / f"work{number}", number)
            process.report(prometheus, ago=(_ROUNDS - number) * _DISTANCE)
    finally:
        process.end()


async def _one_round(folder: Path, number: int) -> None:
    """Do ordinary work, more of it now and less then, and let one thing go wrong."""
    faults = traffic.WORK[2:]
    work = [traffic.demo] * (1 + number % 3) + [traffic.handed_over, faults[number % len(faults)]]
    with traffic.priced():
        for place, each in enumerate(work):
            own = folder / str(place)
            await anyio.Path(own).mkdir(parents=True)
            await each(own)


def _say(text: str) -> None:
    print(f"pictures: {text}", file=sys.stderr, flush=True)  # noqa: T201 - progress


if __name__ == "__main__":
    sys.exit(main())
