"""The five stages, in the order in which a pass runs them: cheap first, money last.

The budget stage comes before retention: a large old output that retention replaced by a short
marker could no longer be archived.
"""

from __future__ import annotations

from lovia.context.stages.auto_summary import AutoSummaryStage
from lovia.context.stages.middle_snip import MiddleSnipStage
from lovia.context.stages.reactive_summary import ReactiveSummaryStage
from lovia.context.stages.tool_result_budget import ToolResultBudgetStage
from lovia.context.stages.tool_result_retention import ToolResultRetentionStage

__all__ = [
    "AutoSummaryStage",
    "MiddleSnipStage",
    "ReactiveSummaryStage",
    "ToolResultBudgetStage",
    "ToolResultRetentionStage",
]
