"""What these dashboards rely on in Grafana's format, as a schema that refuses everything else.

It is written from Grafana's documentation of the classic format, schema version 42. A field that
is not here was not thought about, and fails.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_Text = Annotated[str, Field(min_length=1)]
_Variable = Annotated[str, Field(pattern=r"^\$\{(datasource|tempo|jaeger)\}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Source(_Strict):
    """A data source: always by a variable, never by the uid that one installation gave it."""

    type: Literal["prometheus", "tempo", "jaeger"]
    uid: _Variable


class GridPos(_Strict):
    """A place on the grid of 24 columns."""

    h: Annotated[int, Field(ge=1, le=20)]
    w: Annotated[int, Field(ge=1, le=24)]
    x: Annotated[int, Field(ge=0, le=23)]
    y: Annotated[int, Field(ge=0)]


class PromTarget(_Strict):
    """A query to Prometheus: over time or for now, never both."""

    refId: Annotated[str, Field(pattern="^[A-Z]$")]  # noqa: N815 - Grafana's name
    expr: _Text
    legendFormat: _Text  # noqa: N815
    interval: Literal["1m"]
    range: bool
    instant: bool
    exemplar: bool = False
    format: Literal["time_series", "table", "heatmap"] = "time_series"


class TempoTarget(_Strict):
    """A query to Tempo in TraceQL."""

    refId: Annotated[str, Field(pattern="^[A-Z]$")]  # noqa: N815
    queryType: Literal["traceql"]  # noqa: N815
    query: _Text
    filters: list[Any]
    limit: int | None = None
    tableType: Literal["spans", "traces"] | None = None  # noqa: N815
    exemplars: int | None = None
    metricsQueryType: Literal["range", "instant"] | None = None  # noqa: N815


class JaegerTarget(_Strict):
    """A search in Jaeger."""

    refId: Annotated[str, Field(pattern="^[A-Z]$")]  # noqa: N815
    queryType: Literal["search"]  # noqa: N815
    service: Literal["${service}"]
    limit: int
    operation: str | None = None
    tags: str | None = None
    minDuration: str | None = None  # noqa: N815


class Defaults(_Strict):
    """What holds for all fields of a panel: a unit and words for nothing among it."""

    unit: _Text
    noValue: _Text  # noqa: N815
    min: float | None = None
    color: dict[str, str] | None = None
    thresholds: dict[str, Any] | None = None
    custom: dict[str, Any] | None = None


class FieldConfig(_Strict):
    """How values are shown."""

    defaults: Defaults
    overrides: list[dict[str, Any]]


class Panel(_Strict):
    """A panel."""

    id: Annotated[int, Field(ge=1)]
    type: Literal["timeseries", "heatmap", "stat", "bargauge", "table"]
    title: _Text
    description: Annotated[str, Field(pattern=r"(?s)^.{20,}\n\n\*\*What to do\.\*\* .{10,}$")]
    datasource: Source
    gridPos: GridPos  # noqa: N815
    fieldConfig: FieldConfig  # noqa: N815
    targets: Annotated[list[PromTarget | TempoTarget | JaegerTarget], Field(min_length=1)]
    options: dict[str, Any]
    transformations: list[dict[str, Any]] = []
    transparent: Literal[False]
    repeatDirection: Literal["h"]  # noqa: N815


class Row(_Strict):
    """The head of a row: a question, or the row of numbers at the top."""

    id: Annotated[int, Field(ge=1)]
    type: Literal["row"]
    title: Annotated[str, Field(pattern=r"(\?|at a glance)$")]
    gridPos: GridPos  # noqa: N815
    collapsed: Literal[False]
    panels: Annotated[list[Any], Field(max_length=0)]


class Variable(_Strict):
    """A variable."""

    name: Literal[
        "datasource", "service_label", "service", "agent", "model", "tempo", "jaeger", "slow"
    ]
    label: _Text
    type: Literal["datasource", "custom", "query", "textbox"]
    query: str | dict[str, Any]
    definition: str | None = None
    description: str | None = None
    datasource: Source | None = None
    current: dict[str, Any] | None = None
    multi: bool
    includeAll: bool  # noqa: N815
    allValue: Literal[".*"] | None = None  # noqa: N815
    allowCustomValue: bool  # noqa: N815
    refresh: Literal[2] | None = None
    sort: Literal[1] | None = None
    skipUrlSync: Literal[False]  # noqa: N815
    auto: Literal[False]
    auto_count: int
    auto_min: str


class Templating(_Strict):
    """The variables."""

    variables: Annotated[list[Variable], Field(alias="list")]


class Link(_Strict):
    """A link to the neighbours by their tag; choices and time range go along."""

    title: _Text
    type: Literal["dashboards"]
    tags: tuple[Literal["lovia"]]
    keepTime: Literal[True]  # noqa: N815
    includeVars: Literal[True]  # noqa: N815
    asDropdown: bool  # noqa: N815
    targetBlank: bool  # noqa: N815
    icon: str
    tooltip: str


class TimeRange(_Strict):
    """A range of time that ends now."""

    begin: Annotated[str, Field(alias="from", pattern=r"^now-\d+h$")]
    to: Literal["now"]


class Dashboard(_Strict):
    """A dashboard, without an id of its own."""

    title: Annotated[str, Field(pattern="^lovia: ")]
    description: _Text
    tags: list[Literal["lovia"]]
    schemaVersion: Literal[42]  # noqa: N815
    templating: Templating
    panels: list[Row | Panel]
    links: list[Link]
    time: TimeRange
    refresh: str
    timezone: Literal["browser"]
    editable: Literal[True]
    graphTooltip: Literal[1]  # noqa: N815
    fiscalYearStartMonth: Literal[0]  # noqa: N815
    annotations: Annotated[dict[str, Any], Field(max_length=0)]
