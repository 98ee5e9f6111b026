"""A dashboard out of rows of panels, each row headed by the question that it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grafana_foundation_sdk.builders.dashboard import Dashboard, DashboardLink, Row
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard as models

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grafana_foundation_sdk.models.dashboard import Panel

TAG: Final = "lovia"


class _Built(Builder[models.Panel]):
    """A panel that is built already, where one to build is asked for."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel

    def build(self) -> Panel:
        return self._panel


def board(
    title: str,
    description: str,
    variables: Sequence[Builder[models.VariableModel]],
    rows: Mapping[str, Sequence[Panel]],
) -> models.Dashboard:
    """Return a dashboard.

    It has no id of its own, so that it can be imported anywhere, and links to its neighbours by
    their common tag; the choices and the time range go along.

    Args:
        title: Its title.
        description: What it is for, in a sentence or two.
        variables: Its variables, in the order in which they are shown.
        rows: Its panels by the questions that they answer.
    """
    neighbours = DashboardLink("lovia").type(models.DashboardLinkType.DASHBOARDS).tags([TAG])
    made = (
        Dashboard(title)
        .description(description)
        .tags([TAG])
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .time("now-6h", "now")
        .refresh("1m")
        .variables(list(variables))
        .link(neighbours.keep_time(True).include_vars(True).as_dropdown(False))
    )
    for question, panels in rows.items():
        made.with_row(Row(question))
        for shown in panels:
            made.with_panel(_Built(shown))
    dashboard = made.build()
    panel: models.Panel | models.RowPanel
    for link in dashboard.links or []:
        # Where the kit would hide links in a menu, Grafana's own default is to show them.
        link.placement = None  # type: ignore[assignment]
    for place, panel in enumerate(dashboard.panels or []):
        panel.id_val = place + 1
    return dashboard
