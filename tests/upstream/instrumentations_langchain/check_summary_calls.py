"""The model call of an observed summary is recorded once, whoever else records it."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from lovia_otel import names

OURS = names.SCOPE_NAME
each_way = pytest.mark.parametrize("way", ["sync", "async"])


@cache
def recorded(way: str, *instrumentations: str) -> dict[str, Any]:
    """Return what a run with these instrumentations recorded."""
    module = "tests.upstream.instrumentations_langchain.session"
    done = subprocess.run(
        [sys.executable, "-m", module, way, *instrumentations],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert result["requests"] == 2  # the summary's call and the agent's own
    return result


def check_pass(seen: dict[str, Any]) -> None:
    """Check that the pass knows what its summary cost, whoever recorded the call."""
    assert seen["spent"] == seen["told"] > 0
    assert seen["summary_calls"] == 1


@each_way
def test_a_client_s_instrumentation_leaves_the_summary_to_us(way: str) -> None:
    """Of the summary's call and the agent's own, the first has our span, the second theirs."""
    seen = recorded(way, "openai")
    check_pass(seen)
    assert seen["inside"] == [OURS]
    assert len(seen["calls"]) == 2
    assert seen["calls"].count(OURS) == 1


@pytest.mark.parametrize(("way", "with_client"), [("sync", False), ("sync", True), ("async", True)])
def test_a_framework_s_instrumentation_records_the_summary_once(
    way: str, with_client: bool
) -> None:
    """The summary's call has one span, whoever makes it; the agent's own call is left to them.

    Some record a call twice where the client is instrumented, too: without `observe`, half of all
    spans are the agent's own call's.
    """
    active = ("langchain", "openai") if with_client else ("langchain",)
    seen, plain = recorded(way, *active), recorded("plain", *active)
    check_pass(seen)
    assert len(seen["calls"]) - len(plain["calls"]) // 2 == 1


@each_way
def test_a_call_keeps_its_place_below_the_summary(way: str) -> None:
    """Without any of them, the call is a child of the fold."""
    seen = recorded(way)
    check_pass(seen)
    assert seen["inside"] == seen["calls"] == [OURS]
