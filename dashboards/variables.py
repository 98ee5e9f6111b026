"""The variables of the dashboards: where the data is, and what of it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grafana_foundation_sdk.builders.dashboard import (
    CustomVariable,
    DatasourceVariable,
    QueryVariable,
    TextBoxVariable,
)
from grafana_foundation_sdk.models import dashboard as models

from dashboards import naming
from dashboards.panels import PROMETHEUS
from dashboards.promql import AGENT, MODEL
from lovia_otel import names
from lovia_otel.metrics import METRICS

if TYPE_CHECKING:
    from grafana_foundation_sdk.cog.builder import Builder

#: What stands for all values in a query: it matches series without the label, too.
EVERYTHING: Final = ".*"
#: Metrics that everything instrumented has one of: our runtime, or a foreign policy.
_ANY_OF: Final = (names.METRIC_REQUEST_SIZE, names.METRIC_COMPACTION_DURATION)
_DATA: Final = "|".join(naming.series(metric)[1] for metric in METRICS if metric.name in _ANY_OF)


def metrics_variables() -> list[Builder[models.VariableModel]]:
    """Return the variables of a dashboard over metrics."""
    series = f'{{__name__=~"{_DATA}",${{service_label}}=~"$service"}}'
    return [
        datasource("datasource", "Metrics", "prometheus"),
        _service_label(),
        _choice("service", "Service", f'{{__name__=~"{_DATA}"}}', "$service_label"),
        _choice("agent", "Agent", series, AGENT),
        _choice("model", "Model", series, MODEL),
    ]


def datasource(name: str, label: str, kind: str) -> DatasourceVariable:
    """Return the variable that says which data source of a kind is asked."""
    return DatasourceVariable(name).label(label).type(kind)


def text(name: str, label: str, default: str, description: str) -> TextBoxVariable:
    """Return a variable that is typed in."""
    return TextBoxVariable(name).label(label).default_value(default).description(description)


def _service_label() -> CustomVariable:
    """Return the choice of the label that holds the service's name."""
    choice = CustomVariable("service_label").label("Service label").values("job,service_name")
    choice.current(models.VariableOption(text="job", value="job"))
    return choice.description(
        "The label with the service's name: job in Prometheus and Mimir, service_name where the "
        "backend keeps resource attributes (VictoriaMetrics) or promotes them."
    )


def _choice(name: str, label: str, series: str, values_of: str) -> QueryVariable:
    """Return a variable with the values that a label has, any number of which can be chosen."""
    query = f"label_values({series}, {values_of})"
    asked: dict[str, object] = {"qryType": 1, "query": query, "refId": f"{name}-values"}
    variable = QueryVariable(name).label(label).datasource(PROMETHEUS).query(asked)
    variable.definition(query).multi(True).include_all(True).all_value(EVERYTHING)
    variable.refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
    variable.sort(models.VariableSort.ALPHABETICAL_ASC)
    return variable.current(models.VariableOption(text=["All"], value=["$__all"]))
