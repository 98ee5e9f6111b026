"""What real runs emit, made once for all tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from tests.dashboards import traffic
from tests.dashboards.emitted import recording

if TYPE_CHECKING:
    from tests.dashboards.emitted import Emitted


@pytest.fixture(scope="session")
def emitted(tmp_path_factory: pytest.TempPathFactory, _offline_vocabulary: None) -> Emitted:
    """Let the small fleet do all of its work."""
    with recording() as seen:
        anyio.run(traffic.everything, tmp_path_factory.mktemp("traffic"))
    return seen
