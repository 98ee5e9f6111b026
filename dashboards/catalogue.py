"""All dashboards by their file names, and how they are written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards.jaeger import jaeger
from dashboards.overview import overview
from dashboards.runs import runs
from dashboards.stages import stages
from dashboards.traces import traces

if TYPE_CHECKING:
    from collections.abc import Callable

    from grafana_foundation_sdk.models.dashboard import Dashboard

FOLDER: Final = Path(__file__).parent / "grafana"
DASHBOARDS: Final[dict[str, Callable[[], Dashboard]]] = {
    "overview": overview,
    "stages": stages,
    "runs": runs,
    "traces": traces,
    "traces-jaeger": jaeger,
}


def built() -> dict[Path, str]:
    """Return the text of each dashboard's file, by the file."""
    encoder = JSONEncoder(indent=2, sort_keys=True)
    return {
        FOLDER / f"{name}.json": f"{encoder.encode(build())}\n"
        for name, build in DASHBOARDS.items()
    }
