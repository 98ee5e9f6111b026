"""What the cases share."""

from __future__ import annotations

from tests.otel.conftest import telemetry

__all__ = ["telemetry"]
