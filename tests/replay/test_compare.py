"""Several policies over the same recordings."""

from __future__ import annotations

import json

import pytest

from lovia.replay import Contender, RecordedSession, ReplayTotals, compare, replay
from tests.replay.policies import Everything, Tail
from tests.replay.test_engine import SESSION


@pytest.mark.anyio
async def test_every_policy_meets_every_recording_afresh() -> None:
    """Each recording goes through a new policy of each contender, and the sums add up."""
    built: list[str] = []

    def tail() -> Tail:
        built.append("tail")
        return Tail(10**6, reactive_limit=10**6)

    other = RecordedSession("other", SESSION.entries[:20])
    contenders = [Contender("all", Everything, 50_000), Contender("tail", tail, 40_000)]
    comparison = await compare([SESSION, other], contenders)
    assert comparison.contenders == ("all", "tail")
    assert built == ["tail", "tail"]
    assert [[r.name for r in row] for row in comparison.results] == [["talk"] * 2, ["other"] * 2]
    assert [result.window for result in comparison.results[0]] == [50_000, 40_000]
    every = tuple(turn for row in comparison.results for turn in row[1].turns)
    assert comparison.totals(1) == ReplayTotals.of(every)
    alone = await replay(other, Everything(), window=50_000)
    assert comparison.results[1][0].totals.to_dict() == alone.totals.to_dict()
    data = json.loads(json.dumps(comparison.to_dict()))
    assert [p["policy"] for p in data["policies"]] == ["all", "tail"]
    assert data["recordings"][1]["totals"][0] == alone.totals.to_dict()
