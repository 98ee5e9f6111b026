"""Panels: one function a kind, each of which asks for what no panel may lack.

A panel has a unit, a description that ends with what to do, and words for the time when there is
nothing to show. Colours are given by the name of what is drawn, so that a number has one colour
wherever it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NotRequired, TypedDict, Unpack

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    heatmap,
    prometheus,
    stat,
    table,
    timeseries,
)
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import heatmap as heatmap_models
from grafana_foundation_sdk.models import prometheus as prometheus_models

from dashboards.frame import COUNT, SHARE, Frame, framed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grafana_foundation_sdk.models.dashboard import Panel

    from dashboards.frame import Guide

PROMETHEUS: Final = looks.DataSourceRef(type_val="prometheus", uid="${datasource}")
#: An SDK exports its metrics once a minute by default; rates over less would have gaps.
EXPORT_INTERVAL: Final = "1m"
_BRIDGED: Final = 150_000  # milliseconds: the gap of one missed export, which a curve bridges
_ALL: Final = (("agent", "agents"), ("model", "models"))


@dataclass(frozen=True, slots=True)
class Query:
    """An expression and the name of what comes back, see `each`."""

    expr: str
    legend: str


class _Place(TypedDict):
    """The parts of a frame that a panel's caller says."""

    title: str
    unit: str
    width: int
    height: NotRequired[int]


def each(label: str) -> str:
    """Return the legend that names each series by the value of a label."""
    return f"{{{{{label}}}}}"


def lines(
    title: str,
    queries: Sequence[Query],
    *,
    unit: str,
    guide: Guide,
    width: int = 12,
    colours: Mapping[str, str] | None = None,
    limits: Mapping[float, str] | None = None,
    stacked: bool = False,
) -> Panel:
    """Return curves over time, or stacked bars.

    Args:
        title: What is drawn.
        queries: Where it comes from. Curves over a histogram's buckets show its exemplars.
        unit: The unit of all values.
        guide: What a reader is told.
        width: Columns, of 24.
        colours: Colours by the name of what is drawn; where a legend goes on after the name, by
            its beginning.
        limits: Values from which a curve's background tells of trouble, with their colours.
        stacked: Draw bars that stand on each other.
    """
    panel = timeseries.Panel().legend(_legend()).tooltip(_tooltip()).line_width(2)
    panel.show_points(looks.VisibilityMode.AUTO).span_nulls(_BRIDGED)
    if stacked:
        panel.draw_style(looks.GraphDrawStyle.BARS).fill_opacity(70).line_width(0)
        panel.stacking(common.StackingConfig().mode(looks.StackingMode.NORMAL))
    else:
        panel.fill_opacity(8)
    if unit == SHARE:
        panel.min(0).axis_soft_max(1)
    if limits:
        style = common.GraphThresholdsStyleConfig().mode(looks.GraphThresholdsStyleMode.DASHED)
        panel.thresholds(_thresholds(limits)).thresholds_style(style)
    for name, colour in (colours or {}).items():
        if any(query.legend.startswith(f"{name} {{{{") for query in queries):
            panel.override_by_regexp(f"/^{name} /", [_fixed(colour)])
        else:
            panel.override_by_name(name, [_fixed(colour)])
    panel.targets([_range(query).ref_id(_letter(k)) for k, query in enumerate(queries)])
    return _framed(panel.build(), queries, title=title, unit=unit, guide=guide, width=width)


def buckets(
    title: str, selector: str, *, unit: str, guide: Guide, colour: str, width: int = 12
) -> Panel:
    """Return a heatmap of a histogram: how many values fell where, over time, with exemplars.

    Args:
        title: What is drawn.
        selector: The selector of the histogram's buckets.
        unit: The unit of its values.
        guide: What a reader is told.
        colour: The colour of the fullest cells.
        width: Columns, of 24.
    """
    query = Query(f"sum by (le) (increase({selector}[$__rate_interval]))", "{{le}}")
    ink = heatmap.HeatmapColorOptions().mode(heatmap_models.HeatmapColorMode.OPACITY)
    panel = (
        heatmap.Panel()
        .color(ink.fill(colour).exponent(0.5).scheme("Oranges").steps(64))
        .y_axis(heatmap.YAxisConfig().unit(unit).axis_placement(looks.AxisPlacement.LEFT))
        .tooltip(heatmap.HeatmapTooltip().mode(looks.TooltipDisplayMode.SINGLE).y_histogram(True))
        .targets([_range(query).ref_id("A").format(prometheus_models.PromQueryFormat.HEATMAP)])
    )
    return _framed(panel.build(), [query], title=title, unit=unit, guide=guide, width=width)


def number(
    title: str,
    expr: str,
    *,
    unit: str,
    guide: Guide,
    colour: str,
    limits: Mapping[float, str] | None = None,
    width: int = 4,
) -> Panel:
    """Return one number over the whole time range.

    Args:
        title: What it is.
        expr: An expression with one value.
        unit: Its unit.
        guide: What a reader is told.
        colour: Its colour.
        limits: Values from which it takes other colours.
        width: Columns, of 24.
    """
    query = Query(expr, title)
    panel = (
        stat.Panel()
        .graph_mode(looks.BigValueGraphMode.NONE)
        .color_mode(looks.BigValueColorMode.VALUE)
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
        .thresholds(_thresholds(limits or {}, colour))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .targets([_instant(query).ref_id("A")])
    )
    return _framed(
        panel.build(), [query], title=title, unit=unit, guide=guide, width=width, height=4
    )


def ranking(
    title: str, query: Query, *, unit: str, guide: Guide, colour: str, width: int = 8
) -> Panel:
    """Return horizontal bars, one for each series, over the whole time range.

    Args:
        title: What is compared.
        query: An expression with one value a series.
        unit: The unit of the values.
        guide: What a reader is told.
        colour: The colour of the bars.
        width: Columns, of 24.
    """
    panel = (
        bargauge.Panel()
        .orientation(looks.VizOrientation.HORIZONTAL)
        .display_mode(looks.BarGaugeDisplayMode.BASIC)
        .color_scheme(_colour(colour))
        .min(0)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .targets([_instant(query).ref_id("A")])
    )
    return _framed(panel.build(), [query], title=title, unit=unit, guide=guide, width=width)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its head, the expression of its values, their unit and colour."""

    head: str
    expr: str
    unit: str
    colour: str | None = None


def rows(
    title: str,
    keys: Mapping[str, str],
    columns: Sequence[Column],
    *,
    guide: Guide,
    width: int = 24,
) -> Panel:
    """Return a table with a row for each combination of some labels.

    Args:
        title: What a row is.
        keys: Labels and the heads of their columns.
        columns: The columns of values; each expression has the labels of `keys`.
        guide: What a reader is told.
        width: Columns of the grid, of 24.
    """
    queries = [Query(column.expr, column.head) for column in columns]
    letters = [_letter(place) for place in range(len(columns))]
    heads = {
        f"Value #{letter}": column.head for letter, column in zip(letters, columns, strict=True)
    }
    panel = table.Panel().cell_height(looks.TableCellHeight.SM)
    for letter, query in zip(letters, queries, strict=True):
        target = _instant(query).format(prometheus_models.PromQueryFormat.TABLE)
        panel.with_target(target.ref_id(letter))
    panel.with_transformation(models.DataTransformerConfig(id_val="merge", options={}))
    order = {"excludeByName": {"Time": True}, "renameByName": {**keys, **heads}}
    panel.with_transformation(models.DataTransformerConfig(id_val="organize", options=order))
    for column in columns:
        looks_of = [models.DynamicConfigValue(id_val="unit", value=column.unit)]
        if column.colour:
            cell = {"type": "color-text"}
            looks_of.append(models.DynamicConfigValue(id_val="custom.cellOptions", value=cell))
            looks_of.append(_fixed(column.colour))
        panel.override_by_name(column.head, looks_of)
    return _framed(panel.build(), queries, title=title, unit=COUNT, guide=guide, width=width)


def _framed(
    panel: Panel, queries: Sequence[Query], *, guide: Guide, **frame: Unpack[_Place]
) -> Panel:
    return framed(panel, Frame(guide=_narrowed(guide, queries), source=PROMETHEUS, **frame))


def _narrowed(guide: Guide, queries: Sequence[Query]) -> Guide:
    """Add to a guide which of the dashboard's choices the metrics cannot follow."""
    text = " ".join(query.expr for query in queries)
    services = text.count('"$service"')
    blind = [
        f" All {many} together: the metric does not tell them apart."
        for one, many in _ALL
        if text.count(f'"${one}"') < services
    ]
    return replace(guide, shows="".join([guide.shows, *blind]))


def _letter(place: int) -> str:
    """Return the id of a panel's query by its place."""
    return chr(ord("A") + place)


def _range(query: Query) -> prometheus.Dataquery:
    """Return a query over time. What is read from buckets brings the exemplars of its series."""
    target = prometheus.Dataquery().expr(query.expr).legend_format(query.legend).range()
    return target.interval(EXPORT_INTERVAL).exemplar("_bucket{" in query.expr)


def _instant(query: Query) -> prometheus.Dataquery:
    target = prometheus.Dataquery().expr(query.expr).legend_format(query.legend).instant()
    return target.interval(EXPORT_INTERVAL)


def _legend() -> common.VizLegendOptions:
    legend = common.VizLegendOptions().show_legend(True)
    return legend.display_mode(looks.LegendDisplayMode.LIST).placement(looks.LegendPlacement.BOTTOM)


def _tooltip() -> common.VizTooltipOptions:
    tooltip = common.VizTooltipOptions().mode(looks.TooltipDisplayMode.MULTI)
    return tooltip.sort(looks.SortOrder.DESCENDING)


def _thresholds(
    limits: Mapping[float, str], first: str = "transparent"
) -> dashboard.ThresholdsConfig:
    steps = [models.Threshold(value=None, color=first)]
    steps += [models.Threshold(value=value, color=colour) for value, colour in limits.items()]
    return dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps)


def _colour(colour: str) -> dashboard.FieldColor:
    return dashboard.FieldColor().mode(models.FieldColorModeId.FIXED).fixed_color(colour)


def _fixed(colour: str) -> models.DynamicConfigValue:
    return models.DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": colour})
