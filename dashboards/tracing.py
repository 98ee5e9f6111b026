"""Panels over traces: lists of what a search finds, in Tempo and in Jaeger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grafana_foundation_sdk.builders import table, tempo, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models import tempo as tempo_models

from dashboards.frame import Frame, framed

if TYPE_CHECKING:
    from grafana_foundation_sdk.models.dashboard import Panel

    from dashboards.frame import Guide

TEMPO: Final = looks.DataSourceRef(type_val="tempo", uid="${tempo}")
JAEGER: Final = looks.DataSourceRef(type_val="jaeger", uid="${jaeger}")
_LIMIT: Final = 50  # traces that a list shows
_UNIT: Final = "short"  # of columns whose unit the data source does not tell itself


def tempo_list(title: str, search: str, *, guide: Guide, width: int = 12) -> Panel:
    """Return the spans that a search in Tempo finds, a row each, linked to their traces.

    Args:
        title: What is listed.
        search: The search in TraceQL.
        guide: What a reader is told.
        width: Columns, of 24.
    """
    query = tempo.Dataquery().query(search).query_type("traceql").limit(_LIMIT).ref_id("A")
    target = query.table_type(tempo_models.SearchTableType.SPANS)
    panel = table.Panel().cell_height(looks.TableCellHeight.SM).targets([target])
    frame = Frame(title=title, unit=_UNIT, guide=guide, source=TEMPO, width=width)
    return framed(panel.build(), frame)


def tempo_lines(
    title: str, metrics: str, *, unit: str, guide: Guide, width: int = 12, stacked: bool = False
) -> Panel:
    """Return curves that Tempo computes out of spans, with exemplars.

    Args:
        title: What is drawn.
        metrics: The query in TraceQL.
        unit: The unit of the values.
        guide: What a reader is told.
        width: Columns, of 24.
        stacked: Draw bars.
    """
    query = tempo.Dataquery().query(metrics).query_type("traceql").exemplars(100).ref_id("A")
    target = query.metrics_query_type(tempo_models.MetricsQueryType.RANGE)
    panel = timeseries.Panel().targets([target])
    if stacked:
        panel.draw_style(looks.GraphDrawStyle.BARS).fill_opacity(70)
    frame = Frame(title=title, unit=unit, guide=guide, source=TEMPO, width=width)
    return framed(panel.build(), frame)


class _JaegerSearch(Dataquery):
    """A search in Jaeger, which the kit has no class for."""

    def __init__(self, operation: str, tags: str, longer_than: str) -> None:
        self._fields = {
            "operation": operation,
            "tags": tags,
            "minDuration": longer_than,
        }

    def to_json(self) -> dict[str, object]:
        """Return the query as Grafana stores it."""
        filled = {name: value for name, value in self._fields.items() if value}
        fixed = {"queryType": "search", "service": "${service}", "limit": _LIMIT, "refId": "A"}
        return {**fixed, **filled}


class _Search(Builder[Dataquery]):
    def __init__(self, query: Dataquery) -> None:
        self._query = query

    def build(self) -> Dataquery:
        return self._query


def jaeger_list(
    title: str,
    *,
    guide: Guide,
    operation: str = "",
    tags: dict[str, str] | None = None,
    longer_than: str = "",
    width: int = 12,
) -> Panel:
    """Return the traces that a search in Jaeger finds, a row each.

    Args:
        title: What is listed.
        guide: What a reader is told.
        operation: The name that one of a trace's spans has.
        tags: The tags that the same span has; Jaeger compares them as text.
        longer_than: The time that the span takes at least, as `5s`.
        width: Columns, of 24.
    """
    logfmt = " ".join(f"{name}={value}" for name, value in (tags or {}).items())
    search = _Search(_JaegerSearch(operation, logfmt, longer_than))
    panel = table.Panel().cell_height(looks.TableCellHeight.SM).targets([search])
    frame = Frame(title=title, unit=_UNIT, guide=guide, source=JAEGER, width=width)
    return framed(panel.build(), frame)
