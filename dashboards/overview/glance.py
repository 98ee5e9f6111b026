"""The numbers at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards import colours, economy
from dashboards.frame import SHARE, TOKENS, Guide
from dashboards.panels import number
from dashboards.promql import OUTCOME, RANGE, increase, or_zero, quantile, source
from dashboards.words import NO_CALLS, NO_PASSES, NO_SUMMARIES, NO_WINDOW
from lovia_otel import names

if TYPE_CHECKING:
    from grafana_foundation_sdk.models.dashboard import Panel

_PASSES = source(names.METRIC_COMPACTION_DURATION)
_FAILED = _PASSES.where(f'{OUTCOME}="{names.FAILED}"')


def glance() -> list[Panel]:
    """Return one number for each question that the rows below answer in full."""
    return [*_sizes(), *_economy()]


def _sizes() -> list[Panel]:
    return [
        number(
            "History, 95th percentile",
            quantile(0.95, economy.HISTORY, over=RANGE),
            unit=TOKENS,
            colour=colours.HISTORY,
            guide=Guide(
                shows="19 of 20 model calls stood for a history no larger than this.",
                act="Compare it with the model's window: far below it, compaction is idle and "
                "right to be.",
                empty=NO_CALLS,
            ),
        ),
        number(
            "Request, 95th percentile",
            quantile(0.95, economy.REQUEST, over=RANGE),
            unit=TOKENS,
            colour=colours.REQUEST,
            guide=Guide(
                shows="19 of 20 model calls sent no more than this.",
                act="It should stay below the trigger of the policy. If it grows with the "
                "history, look at how passes end.",
                empty=NO_CALLS,
            ),
        ),
    ]


def _economy() -> list[Panel]:
    calls, passes = increase(_PASSES.count), or_zero(increase(_FAILED.count))
    return [
        number(
            "Saved",
            economy.saved(),
            unit=TOKENS,
            colour=colours.SAVED,
            guide=Guide(
                shows="Tokens that compaction kept out of model calls: for each call the "
                "history, or the window where that is smaller, minus the request.",
                act="Zero while histories are small is as it should be.",
                empty=NO_WINDOW,
            ),
        ),
        number(
            "Summary cost",
            economy.cost(),
            unit=TOKENS,
            colour=colours.SUMMARY_COST,
            guide=Guide(
                shows="Tokens that compaction's own model calls spent, prompts and answers.",
                act="If it comes near what is saved, see the row on costs.",
                empty=NO_SUMMARIES,
            ),
        ),
        number(
            "Net",
            economy.net(),
            unit=TOKENS,
            colour=colours.NET,
            limits={},
            guide=Guide(
                shows="Saved, minus growth, minus summary cost. It is tokens, not money: cached "
                "input is cheaper than fresh input, output dearer.",
                act="Below zero compaction costs more than it saves: see the runbook of "
                "LoviaCompactionDoesNotPay.",
                empty=NO_WINDOW,
            ),
        ),
        number(
            "Passes that failed",
            f"{passes} / {calls}",
            unit=SHARE,
            colour=colours.SAVED,
            limits={0.01: colours.SUMMARY_COST, 0.1: colours.TROUBLE},
            guide=Guide(
                shows="Share of the passes that ended as failed. The run went on with a larger "
                "request.",
                act="Above one in ten see the runbook of LoviaCompactionFailing.",
                empty=NO_PASSES,
            ),
        ),
    ]
