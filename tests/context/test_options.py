"""Settings that make no sense are refused where they are given."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from lovia.context import CompactingContextPolicy
from lovia.context.options import CompactionOptions
from lovia.errors import UserError

BAD: list[tuple[str, Any]] = [
    ("context_window_tokens", 0),
    ("context_window_tokens", -5),
    ("context_window_tokens", "100k"),
    ("context_window_tokens", 1_000.5),
    ("context_window_tokens", float("inf")),
    ("trigger_ratio", 0),
    ("trigger_ratio", 1.2),
    ("trigger_ratio", float("nan")),
    ("trigger_ratio", "0.8"),
    ("trigger_ratio", True),
    ("target_ratio", 0),
    ("target_ratio", 0.8),
    ("target_ratio", None),
    ("trigger_tokens", 0),
    ("max_entries", 0),
    ("max_entries", 2.5),
    ("keep_initial_entries", -1),
    ("keep_recent_entries", None),
    ("keep_recent_entries", 1.5),
    ("keep_recent_tool_results", True),
    ("tool_result_budget_chars", "many"),
    ("large_tool_result_chars", -1),
    ("tool_result_preview_chars", float("nan")),
    ("reserve_output_tokens", -1),
    ("max_summary_failures", 0),
    ("max_reactive_retries", -1),
    ("summary_cooldown_seconds", -1),
    ("summary_cooldown_seconds", float("nan")),
    ("summary_cooldown_seconds", "soon"),
    ("keep_tools", "search"),
    ("keep_tools", 7),
]


@pytest.mark.parametrize(("name", "value"), BAD, ids=[f"{n}={v!r}" for n, v in BAD])
def test_a_setting_that_makes_no_sense_is_refused(name: str, value: object) -> None:
    """The error names the setting and says what would do."""
    settings: dict[str, Any] = {name: value}
    with pytest.raises(UserError, match=name) as caught:
        CompactingContextPolicy(**settings)
    assert caught.value.hint


@pytest.mark.parametrize(
    "settings",
    [
        {"context_window_tokens": 1_000, "reserve_output_tokens": 1_000},
        {"trigger_ratio": 0.5, "target_ratio": 0.5},
        {"trigger_ratio": 0.5},
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, Any]) -> None:
    """Nothing of the window left, and a target that is no target, are errors."""
    with pytest.raises(UserError) as caught:
        CompactingContextPolicy(**settings)
    assert caught.value.hint


@pytest.mark.parametrize(
    "settings",
    [
        {"context_window_tokens": 1, "max_entries": 1},
        {"max_entries": None, "trigger_tokens": None},
        {"trigger_ratio": 1, "target_ratio": 0.01},
        {"keep_initial_entries": 0, "keep_recent_entries": 0, "keep_recent_tool_results": 0},
        {"keep_tools": []},
        {"keep_tools": frozenset({"a"})},
        {"summary_cooldown_seconds": 0, "max_reactive_retries": 0},
        {"summary_cooldown_seconds": float("inf")},
    ],
)
def test_unusual_settings_are_taken(settings: dict[str, Any]) -> None:
    """What can be meant is accepted as it is."""
    policy = CompactingContextPolicy(**settings)
    for name, value in settings.items():
        assert getattr(policy.options, name) == value


def test_the_defaults_are_the_documented_ones() -> None:
    """The public keywords have the defaults that users rely on."""
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(CompactingContextPolicy).parameters.items()
        if name in CompactionOptions.FIELDS
    }
    assert defaults == {
        "context_window_tokens": None,
        "trigger_ratio": 0.8,
        "target_ratio": 0.6,
        "trigger_tokens": None,
        "max_entries": 80,
        "keep_initial_entries": 3,
        "keep_recent_entries": 40,
        "reactive_keep_recent_entries": 8,
        "keep_recent_tool_results": 3,
        "tool_result_budget_chars": 200_000,
        "large_tool_result_chars": 20_000,
        "tool_result_preview_chars": 2_000,
        "reserve_output_tokens": None,
        "max_summary_failures": 3,
        "max_reactive_retries": 1,
        "keep_tools": (),
        "summary_cooldown_seconds": 300.0,
        "summary_timeout_seconds": 300.0,
        "archive_timeout_seconds": 10.0,
    }


def test_a_low_trigger_by_its_former_name_brings_a_target_below_it() -> None:
    """Code from before there was a target goes on working, whatever its trigger."""
    with pytest.warns(DeprecationWarning, match="trigger_ratio"):
        policy = CompactingContextPolicy(compact_at_ratio=0.5)
    assert (policy.options.trigger_ratio, policy.options.target_ratio) == (0.5, 0.375)
    with pytest.warns(DeprecationWarning, match="trigger_ratio"):
        policy = CompactingContextPolicy(compact_at_ratio=0.5, target_ratio=0.2)
    assert policy.options.target_ratio == 0.2
