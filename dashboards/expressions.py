"""What the dashboards and the rules ask Prometheus, read from the files that people use."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GRAFANA: Final = Path(__file__).parent / "grafana"
RULES: Final = Path(__file__).parent / "rules"
#: What Grafana puts in the place of variables when everything is chosen.
CHOICES: Final[dict[str, str]] = {
    "${service_label}": "job",
    "$service_label": "job",
    "$service": ".*",
    "$agent": ".*",
    "$model": ".*",
    "$__rate_interval": "5m",
    "$__range": "1h",
}


class Expression(NamedTuple):
    """One query of a dashboard: the dashboard's and the panel's title, and what is asked."""

    dashboard: str
    panel: str
    expr: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One recording or alert rule.

    Attributes:
        name: The series that it records, or the alert that it raises.
        expr: What it asks.
        labels: What it adds to the result.
        annotations: What an alert says; empty for a recording rule.
        hold: How long an alert's condition must hold, as `10m`; empty: not at all.
    """

    name: str
    expr: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    hold: str = ""


def expressions(choices: Mapping[str, str] | None = None) -> list[Expression]:
    """Return every query over metrics of every dashboard, with the variables filled in.

    Args:
        choices: What stands for a variable, by the variable as written (``$agent``), where it is
            to be something else than everything.
    """
    return [
        Expression(dashboard["title"], panel["title"], filled(target["expr"], choices))
        for dashboard in dashboards()
        for panel in panels(dashboard)
        for target in panel.get("targets", ())
        if "expr" in target
    ]


def filled(text: str, choices: Mapping[str, str] | None = None) -> str:
    """Put values in the place of a query's variables, as Grafana does."""
    chosen = {**CHOICES, **(choices or {})}
    for variable in sorted(chosen, key=len, reverse=True):
        text = text.replace(variable, chosen[variable])
    return text


def recording_rules() -> list[Rule]:
    """Return the recording rules, in the order of their evaluation."""
    return [
        Rule(rule["record"], rule["expr"], rule.get("labels", {}))
        for rule in _rules(RULES / "recording.yml")
    ]


def alert_rules() -> list[Rule]:
    """Return the alert rules."""
    return [
        Rule(rule["alert"], rule["expr"], rule["labels"], rule["annotations"], rule.get("for", ""))
        for rule in _rules(RULES / "alerts.yml")
    ]


def dashboards() -> list[dict[str, Any]]:
    """Return the dashboards as Grafana reads them."""
    return [json.loads(file.read_text("utf-8")) for file in sorted(GRAFANA.glob("*.json"))]


def panels(dashboard: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the panels of a dashboard, without its rows."""
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            yield from panel["panels"]
        else:
            yield panel


def _rules(file: Path) -> Iterator[dict[str, Any]]:
    for group in yaml.safe_load(file.read_text("utf-8"))["groups"]:
        yield from group["rules"]
