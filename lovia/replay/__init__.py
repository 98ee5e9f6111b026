"""A recorded transcript through a policy, call by call: engine, comparison, report.

Nothing here asks a model anything unless the policy's summarizer does.
"""

from __future__ import annotations

from lovia.replay.compare import Comparison, Contender, compare
from lovia.replay.engine import model_calls, replay
from lovia.replay.estimate import UsageComparison, UsagePoint, UsageSegment, compare_usage
from lovia.replay.report import render_report, write_report
from lovia.replay.result import ReplayPass, ReplayResult, ReplayTotals, ReplayTurn
from lovia.replay.session import RecordedCount, RecordedSession, load_session

__all__ = [
    "Comparison",
    "Contender",
    "RecordedCount",
    "RecordedSession",
    "ReplayPass",
    "ReplayResult",
    "ReplayTotals",
    "ReplayTurn",
    "UsageComparison",
    "UsagePoint",
    "UsageSegment",
    "compare",
    "compare_usage",
    "load_session",
    "model_calls",
    "render_report",
    "replay",
    "write_report",
]
