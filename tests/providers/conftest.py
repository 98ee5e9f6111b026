"""What tests of the providers share: an environment without anybody's keys, and a recorder."""

from __future__ import annotations

import os

import pytest

from tests.otel.conftest import telemetry

__all__ = ["telemetry"]


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no key, address or proxy of the machine reach the SDKs."""
    for name in [*os.environ]:
        if name.startswith(("OPENAI_", "ANTHROPIC_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
