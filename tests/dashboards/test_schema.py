"""The dashboards' form: what Grafana wants, and what a reader needs."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from dashboards import colours
from dashboards.expressions import GRAFANA, panels
from tests.dashboards.schema import Dashboard, Panel, PromTarget

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted(GRAFANA.glob("*.json"))


def read(file: Path) -> Dashboard:
    """Return a dashboard, checked against the schema."""
    return Dashboard.model_validate_json(file.read_text(encoding="utf-8"))


def panels_of(dashboard: Dashboard) -> list[Panel]:
    """Return the panels without the heads of rows."""
    return [panel for panel in dashboard.panels if isinstance(panel, Panel)]


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def dashboard(request: pytest.FixtureRequest) -> Dashboard:
    """Each dashboard."""
    return read(request.param)


def test_a_dashboard_fits_the_schema(dashboard: Dashboard) -> None:
    """It has what Grafana needs, on each panel a unit, a description and words for nothing."""
    assert panels_of(dashboard)


def test_no_id_is_given_twice(dashboard: Dashboard) -> None:
    """Panels, and the queries of a panel, have ids of their own."""
    ids = [panel.id for panel in dashboard.panels]
    assert len(set(ids)) == len(ids)
    for panel in panels_of(dashboard):
        letters = [target.refId for target in panel.targets]
        assert len(set(letters)) == len(letters)


def test_titles_tell_panels_apart(dashboard: Dashboard) -> None:
    """No two panels of a dashboard have one title."""
    titles = [panel.title for panel in panels_of(dashboard)]
    assert len(set(titles)) == len(titles)


def test_no_panel_covers_another(dashboard: Dashboard) -> None:
    """Each cell of the grid belongs to one panel, and no panel leaves it."""
    taken: dict[tuple[int, int], int] = {}
    for panel in dashboard.panels:
        place = panel.gridPos
        assert place.x + place.w <= 24
        for x in range(place.x, place.x + place.w):
            for y in range(place.y, place.y + place.h):
                assert taken.setdefault((x, y), panel.id) == panel.id


def test_every_row_is_filled(dashboard: Dashboard) -> None:
    """The panels of a row take all of its width, and each row has some."""
    widths: dict[int, int] = {}
    for panel in panels_of(dashboard):
        widths[panel.gridPos.y] = widths.get(panel.gridPos.y, 0) + panel.gridPos.w
    assert set(widths.values()) == {24}
    heads = [type(panel).__name__ for panel in dashboard.panels]
    assert ("Row", "Row") not in set(pairwise(heads))


def test_every_variable_is_used_and_every_used_one_is_there(dashboard: Dashboard) -> None:
    """Queries use the variables that the dashboard has, and all of them."""
    text = dashboard.model_dump_json()
    there = {variable.name for variable in dashboard.templating.variables}
    assert {name for name in there if f"${name}" in text or f"${{{name}}}" in text} == there
    known = {"datasource", "service_label", "service", "agent", "model", "tempo", "jaeger", "slow"}
    for name in known - there:
        assert f"${name}" not in text
        assert f"${{{name}}}" not in text


def test_rates_and_exemplars(dashboard: Dashboard) -> None:
    """Curves take rates over Grafana's own interval, and those out of buckets show exemplars."""
    for panel in panels_of(dashboard):
        for target in panel.targets:
            if not isinstance(target, PromTarget):
                continue
            assert target.range != target.instant
            assert ("$__range]" in target.expr) <= target.instant
            assert ("$__rate_interval]" in target.expr) <= target.range
            assert target.exemplar == (target.range and "_bucket{" in target.expr)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_number_has_one_colour_everywhere(file: Path) -> None:
    """Wherever one of the numbers is drawn under its name, it has its own colour."""
    for panel in panels(json.loads(file.read_text(encoding="utf-8"))):
        given = {
            override["matcher"]["options"]: _colour(override["properties"])
            for override in panel["fieldConfig"]["overrides"]
        }
        drawn = {target.get("legendFormat") for target in panel["targets"]}
        for name, colour in colours.NUMBERS.items():
            if name in drawn and panel["type"] in {"timeseries", "table"}:
                assert given[name] == colour
            if any(legend and legend.startswith(f"{name} {{{{") for legend in drawn):
                assert given[f"/^{name} /"] == colour
            if panel["type"] == "stat" and panel["title"].startswith(name):
                assert panel["fieldConfig"]["defaults"]["thresholds"]["steps"][0]["color"] == colour


def _colour(properties: list[dict[str, Any]]) -> str | None:
    return next((p["value"]["fixedColor"] for p in properties if p["id"] == "color"), None)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("panels", 1, "fieldConfig", "defaults", "unit"), ""),
        (("panels", 1, "description"), "A panel without advice."),
        (("panels", 1, "datasource", "uid"), "P1809F7CD0C75ACF3"),
        (("panels", 1, "targets", 0, "expr"), ""),
        (("panels", 0, "title"), "Overview"),
        (("schemaVersion",), 41),
        (("uid",), "lovia-overview"),
    ],
)
def test_the_schema_refuses(path: tuple[str | int, ...], value: Any) -> None:
    """Each thing that a dashboard must not lack, or must not have, is found."""
    whole = json.loads((GRAFANA / "overview.json").read_text(encoding="utf-8"))
    *way, last = path
    part = whole
    for step in way:
        part = part[step]
    part[last] = value
    with pytest.raises(ValidationError):
        Dashboard.model_validate_json(json.dumps(whole))
