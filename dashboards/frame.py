"""What every panel has: a title, a unit, a description that says what to do, words for nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from grafana_foundation_sdk.models import dashboard as models

if TYPE_CHECKING:
    from grafana_foundation_sdk.models.common import DataSourceRef
    from grafana_foundation_sdk.models.dashboard import Panel

# Units, as Grafana calls them.
TOKENS: Final = "si:tok"
TOKENS_PER_MINUTE: Final = "si:tok/min"
SECONDS: Final = "s"
BYTES: Final = "bytes"
BYTES_PER_MINUTE: Final = "si:B/min"
SHARE: Final = "percentunit"
COUNT: Final = "short"
PER_MINUTE: Final = "cpm"
PER_SECOND: Final = "cps"

HEIGHT: Final = 8  # grid units


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide:
    """What a reader is told.

    Attributes:
        shows: What the panel shows.
        act: What to do about what it shows.
        empty: What it means that there is nothing to show.
    """

    shows: str
    act: str
    empty: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stands around a panel's picture.

    Attributes:
        title: What is drawn.
        unit: The unit of its values.
        guide: What a reader is told.
        source: Where its data comes from.
        width: Columns, of 24.
        height: Grid units.
    """

    title: str
    unit: str
    guide: Guide
    source: DataSourceRef
    width: int = 12
    height: int = HEIGHT


def framed(panel: Panel, frame: Frame) -> Panel:
    """Give a panel what every panel has, and return it."""
    panel.title = frame.title
    panel.description = f"{frame.guide.shows}\n\n**What to do.** {frame.guide.act}"
    panel.datasource = frame.source
    panel.grid_pos = models.GridPos(h=frame.height, w=frame.width)
    if panel.field_config is None:
        panel.field_config = models.FieldConfigSource()
    panel.field_config.defaults.unit = frame.unit
    panel.field_config.defaults.no_value = frame.guide.empty
    return panel
