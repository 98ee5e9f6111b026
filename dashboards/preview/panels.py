"""What a panel shows of a live Prometheus, as HTML."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING, Any, Final

from dashboards.expressions import filled
from dashboards.frame import SHARE
from dashboards.preview import charts
from dashboards.preview.figures import figure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dashboards.preview.prometheus import Prometheus, Series, Span

Panel = dict[str, Any]
_LABEL: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")
#: Colours of series that a panel gives none: far apart for most eyes, on a light ground.
_OTHERS: Final = ("#0063a3", "#a05a00", "#00704f", "#6d4fa3", "#8a6d00", "#a8325a", "#3c3c3c")
_TEXT: Final = "#1f2329"


class Painter:
    """Draws panels.

    Args:
        prometheus: Where the data is.
        span: The time range that is drawn.
        choices: What stands for the dashboards' variables.
    """

    def __init__(self, prometheus: Prometheus, span: Span, choices: Mapping[str, str]) -> None:
        self._prometheus = prometheus
        self._span = span
        self._choices = choices
        self._kinds: dict[str, Callable[[Panel, int, int], str | None]] = {
            "timeseries": self._timeseries,
            "heatmap": self._heatmap,
            "stat": self._stat,
            "bargauge": self._bargauge,
            "table": self._table,
        }

    def draw(self, panel: Panel, *, width: int, height: int) -> str:
        """Return a panel's inside as HTML; the panel's own words where there is no data.

        Args:
            panel: The panel as Grafana reads it.
            width: Pixels.
            height: Pixels.

        Raises:
            QueryFailed: Prometheus gave no answer.
        """
        drawn = self._kinds[panel["type"]](panel, width, height)
        empty = panel["fieldConfig"]["defaults"]["noValue"]
        return drawn or f'<p class="empty">{escape(empty)}</p>'

    def _over(self, target: Mapping[str, Any]) -> list[Series]:
        return self._prometheus.over(filled(target["expr"], self._choices), self._span)

    def _now(self, target: Mapping[str, Any]) -> list[Series]:
        return self._prometheus.at(filled(target["expr"], self._choices), self._span.end)

    def _timeseries(self, panel: Panel, width: int, height: int) -> str | None:
        found = [
            (_legend(target, series), series)
            for target in panel["targets"]
            for series in self._over(target)
        ]
        if not found:
            return None
        inks = _inks(panel, [name for name, _ in found])
        curves = [charts.Curve(name, inks[name], series.points) for name, series in found]
        unit, span, height = _unit(panel), self._span, height - 24
        if panel["fieldConfig"]["defaults"].get("custom", {}).get("drawStyle") == "bars":
            picture = charts.bars(curves, width=width, height=height, span=span, unit=unit)
        else:
            least = 1.0 if unit == SHARE else 0.0
            picture = charts.lines(
                curves, width=width, height=height, span=span, unit=unit, least_high=least
            )
        return picture + _key(inks)

    def _heatmap(self, panel: Panel, width: int, height: int) -> str | None:
        (target,) = panel["targets"]
        columns: dict[float, list[tuple[float, float]]] = defaultdict(list)
        bounds = set()
        for series in self._over(target):
            bound = float(series.labels["le"])
            bounds.add(bound)
            for at, value in series.points:
                columns[at].append((bound, value))
        order = sorted(bounds)
        cells = [
            (at, order.index(bound), count)
            for at, column in columns.items()
            for bound, count in _parted(column)
            if count > 0
        ]
        if not cells:
            return None
        order, cells = _trimmed(order, cells)
        return charts.heat(
            order,
            cells,
            width=width,
            height=height,
            span=self._span,
            unit=_unit(panel),
            colour=panel["options"]["color"]["fill"],
        )

    def _stat(self, panel: Panel, width: int, height: int) -> str | None:
        found = [series for target in panel["targets"] for series in self._now(target)]
        if not found:
            return None
        value = found[0].last
        steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        ink = [step["color"] for step in steps if value >= (step["value"] or -math.inf)][-1]
        size = min(height * 0.5, width * 0.22)
        style = f"color:{_ink(ink)};font-size:{size:.0f}px;line-height:{height}px"
        return f'<p class="stat" style="{style}">{escape(figure(value, _unit(panel)))}</p>'

    def _bargauge(self, panel: Panel, width: int, height: int) -> str | None:
        found = [
            (_legend(target, series), series.last)
            for target in panel["targets"]
            for series in self._now(target)
        ]
        if not found:
            return None
        ink = _ink(panel["fieldConfig"]["defaults"]["color"]["fixedColor"])
        most = max(value for _, value in found) or 1
        shown = sorted(found, key=lambda item: -item[1])[: max(height // 30, 1)]
        lines = [
            f"<tr><th>{escape(name)}</th><td class='bar'>"
            f"<div style='background:{ink};width:{max(value / most * 100, 0.5):.1f}%'></div></td>"
            f"<td>{escape(figure(value, _unit(panel)))}</td></tr>"
            for name, value in shown
        ]
        return f"<table class='bars'>{''.join(lines)}</table>"

    def _table(self, panel: Panel, width: int, height: int) -> str | None:
        heads = panel["transformations"][1]["options"]["renameByName"]
        keys = [key for key in heads if not key.startswith("Value #")]
        lines: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
        for target in panel["targets"]:
            head = heads[f"Value #{target['refId']}"]
            for series in self._now(target):
                lines[tuple(series.labels.get(key, "") for key in keys)][head] = series.last
        if not lines:
            return None
        columns = [heads[f"Value #{target['refId']}"] for target in panel["targets"]]
        return _html_table([heads[key] for key in keys], columns, lines, _column_looks(panel))


def _html_table(
    keys: Sequence[str],
    columns: Sequence[str],
    lines: Mapping[tuple[str, ...], Mapping[str, float]],
    looks: Mapping[str, Mapping[str, Any]],
) -> str:
    heads = [f"<th>{escape(name)}</th>" for name in keys]
    heads += [f"<th class='value'>{escape(name)}</th>" for name in columns]
    body = []
    for key, values in sorted(lines.items()):
        cells = [f"<th>{escape(part)}</th>" for part in key]
        for column in columns:
            look = looks.get(column, {})
            ink = _ink(look.get("color", {}).get("fixedColor", "text"))
            shown = figure(values[column], look.get("unit", "short")) if column in values else ""
            cells.append(f"<td style='color:{ink}'>{escape(shown)}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><tr>{''.join(heads)}</tr>{''.join(body)}</table>"


def _column_looks(panel: Panel) -> dict[str, dict[str, Any]]:
    """Return the overrides of a panel by the name of what they are for."""
    return {
        override["matcher"]["options"]: {
            each["id"]: each["value"] for each in override["properties"]
        }
        for override in panel["fieldConfig"]["overrides"]
    }


def _inks(panel: Panel, names: Sequence[str]) -> dict[str, str]:
    """Return a colour for each series: the panel's own for its name, else one of a fixed row."""
    inks: dict[str, str] = {}
    for name in names:
        own = _own_colour(panel, name)
        inks.setdefault(name, _ink(own) if own else _OTHERS[len(inks) % len(_OTHERS)])
    return inks


def _own_colour(panel: Panel, name: str) -> str | None:
    """Return the colour that a panel's overrides give a name, by the whole of it or a pattern."""
    for override in panel["fieldConfig"]["overrides"]:
        matcher = override["matcher"]
        by_pattern = matcher["id"] == "byRegexp"
        pattern = matcher["options"][1:-1] if by_pattern else re.escape(matcher["options"])
        matched = re.search(pattern, name) if by_pattern else re.fullmatch(pattern, name)
        for each in override["properties"] if matched else ():
            if each["id"] == "color":
                colour: str = each["value"]["fixedColor"]
                return colour
    return None


def _ink(colour: str) -> str:
    return _TEXT if colour in {"text", "transparent"} else colour


def _unit(panel: Panel) -> str:
    unit: str = panel["fieldConfig"]["defaults"]["unit"]
    return unit


def _legend(target: Mapping[str, Any], series: Series) -> str:
    """Return the name of a series, with the values of labels in the legend's braces."""
    return _LABEL.sub(lambda match: series.labels.get(match[1], ""), target["legendFormat"])


def _key(inks: Mapping[str, str]) -> str:
    """Return the names of curves in their colours."""
    names = [
        f"<span style='color:{ink}'>&#9644; {escape(name)}</span>" for name, ink in inks.items()
    ]
    return f'<p class="key">{" ".join(names)}</p>'


def _parted(column: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Turn cumulative counts by upper bound into the count of each bucket."""
    parted, before = [], 0.0
    for bound, count in sorted(column):
        parted.append((bound, count - before))
        before = count
    return parted


def _trimmed(
    bounds: list[float], cells: list[tuple[float, int, float]]
) -> tuple[list[float], list[tuple[float, int, float]]]:
    """Leave out the buckets below and above all values."""
    first, last = min(cell[1] for cell in cells), max(cell[1] for cell in cells)
    moved = [(at, bucket - first, count) for at, bucket, count in cells]
    return bounds[first : last + 1], moved
