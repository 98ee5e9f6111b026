"""What happened in a turn, in words short enough for a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lovia.context.policy import StageRecord
    from lovia.replay.result import ReplayPass, ReplayTurn

__all__ = ["count", "describe_pass", "describe_turn", "short", "signed"]

_TEN_THOUSAND = 10_000
_MILLION = 1_000_000


def count(number: int | None) -> str:
    """Write a number with thousands separators; a dash for one that nobody knows."""
    return "-" if number is None else f"{number:,}"


def short(number: int | None) -> str:
    """Write a number in at most five characters: 950, 9,800, 152k, 1.3M."""
    if number is None:
        return "-"
    if abs(number) >= _MILLION:
        return f"{number / _MILLION:.1f}M"
    if abs(number) >= _TEN_THOUSAND:
        return f"{number / 1000:.0f}k"
    return f"{number:,}"


def signed(number: int) -> str:
    """Write a change with its sign."""
    return f"+{number:,}" if number > 0 else f"{number:,}"


def describe_turn(turn: ReplayTurn) -> str:
    """Say what happened before a call: its passes, or nothing for a quiet turn."""
    told = [describe_pass(done) for done in turn.passes]
    if turn.overflow:
        told.append("overflow: too large for the window")
    return "; ".join(told)


def describe_pass(done: ReplayPass) -> str:
    """Say what a pass did: its stages with what each took off, or how it ended."""
    lead = "refused by the window: " if done.reactive else ""
    stages = [words for stage in done.stages if (words := _describe_stage(stage))]
    if not done.changed:
        stages.append(done.outcome)
    return lead + (", ".join(stages) or done.reason or done.outcome)


def _describe_stage(stage: StageRecord) -> str:
    if stage.outcome == "applied":
        return f"{stage.name} {signed(stage.after - stage.before)}"
    if stage.outcome in {"refused", "failed", "cancelled"}:
        return f"{stage.name} {stage.outcome}"
    return ""
