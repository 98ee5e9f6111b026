"""What the checks of every framework share: telemetry in memory, and one event loop."""

from __future__ import annotations

import pytest

from tests.otel.conftest import no_sdk, telemetry

__all__ = ["anyio_backend", "no_sdk", "telemetry"]


@pytest.fixture
def anyio_backend() -> str:
    """The frameworks run on asyncio alone."""
    return "asyncio"
