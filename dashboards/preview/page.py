"""A dashboard as one HTML page without scripts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from dashboards.expressions import panels
from dashboards.preview.panels import Painter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dashboards.preview.prometheus import Prometheus, Span

_COLUMN: Final = 66  # pixels of one of Grafana's 24 columns
_ROW: Final = 30  # pixels of one of its rows
_PADDING: Final = 26  # pixels of a panel that its picture cannot use, on both sides together
_HEAD: Final = 44  # the same, for its title


def render(
    dashboard: Mapping[str, Any], prometheus: Prometheus, span: Span, choices: Mapping[str, str]
) -> str:
    """Return the page.

    Args:
        dashboard: The dashboard as Grafana reads it.
        prometheus: Where the data is.
        span: The time range that is drawn.
        choices: What stands for the dashboards' variables.

    Raises:
        QueryFailed: Prometheus gave no answer.
    """
    environment = Environment(
        loader=PackageLoader("dashboards.preview", "."), autoescape=True, undefined=StrictUndefined
    )
    painter = Painter(prometheus, span, choices)
    return environment.get_template("page.html.j2").render(
        title=dashboard["title"],
        description=dashboard["description"],
        begin=time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(span.start)),
        end=time.strftime("%H:%M:%S UTC", time.gmtime(span.end)),
        width=24 * _COLUMN,
        rows=list(_rows(dashboard, painter)),
    )


def _rows(dashboard: Mapping[str, Any], painter: Painter) -> Iterator[dict[str, Any]]:
    """Yield the rows with their panels: a row has the panels after it, or holds them itself."""
    row: dict[str, Any] = {"title": "", "panels": []}
    for panel in dashboard["panels"]:
        if panel["type"] != "row":
            row["panels"].append(_panel(panel, painter))
            continue
        if row["panels"]:
            yield row
        inside = panels({"panels": [panel]})
        row = {"title": panel["title"], "panels": [_panel(each, painter) for each in inside]}
    yield row


def _panel(panel: dict[str, Any], painter: Painter) -> dict[str, Any]:
    width, height = panel["gridPos"]["w"] * _COLUMN - 8, panel["gridPos"]["h"] * _ROW
    inside = painter.draw(panel, width=width - _PADDING, height=height - _HEAD)
    return {"title": panel["title"], "width": width, "height": height, "inside": inside}
