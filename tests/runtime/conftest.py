"""Fixtures of the runtime's tests."""

from __future__ import annotations

from tests.otel.conftest import telemetry

__all__ = ["telemetry"]
