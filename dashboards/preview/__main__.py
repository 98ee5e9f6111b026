"""`python -m dashboards.preview URL` draws the metrics dashboards from a live Prometheus."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dashboards.catalogue import FOLDER
from dashboards.expressions import panels
from dashboards.preview.page import render
from dashboards.preview.prometheus import Prometheus, QueryFailed, Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# ruff: noqa: T201 - a command's result


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the dashboards; returns the exit code."""
    asked = _parser().parse_args(arguments)
    end = time.time()
    span = Span(end - asked.seconds, end, max(asked.seconds / 120, asked.interval / 4))
    choices = {"$__range": f"{asked.seconds}s", "$__rate_interval": f"{asked.interval}s"}
    asked.out.mkdir(parents=True, exist_ok=True)
    try:
        for name, dashboard in over_metrics():
            page = render(dashboard, Prometheus(asked.url), span, choices)
            target = asked.out / f"{name}.html"
            target.write_text(page, encoding="utf-8")
            print(target)
    except QueryFailed as failure:
        print(f"preview: {failure}", file=sys.stderr)
        return 1
    return 0


def over_metrics() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the dashboards that ask Prometheus alone, by the names of their files."""
    for file in sorted(FOLDER.glob("*.json")):
        dashboard = json.loads(file.read_text("utf-8"))
        if {panel["datasource"]["type"] for panel in panels(dashboard)} == {"prometheus"}:
            yield file.stem, dashboard


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dashboards.preview", description=__doc__)
    parser.add_argument("url", help="a Prometheus, as http://127.0.0.1:9090")
    parser.add_argument("--out", type=Path, default=Path("preview"), help="the folder of the pages")
    parser.add_argument("--seconds", type=int, default=3_600, help="how far back to look")
    parser.add_argument("--interval", type=int, default=240, help="seconds that a rate looks over")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
