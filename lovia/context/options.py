"""The settings of the default policy, checked, and their old names."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

from lovia.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OLD_NAMES", "CompactionOptions", "renamed"]

#: Keywords of earlier releases and what they are called now.
OLD_NAMES = {
    "max_tokens": "context_window_tokens",
    "compact_at_ratio": "trigger_ratio",
    "keep_recent_messages": "keep_recent_entries",
    "reactive_keep_recent_messages": "reactive_keep_recent_entries",
}


#: The target, as a share of a trigger that is given by its old name.
_OLD_TARGET_SHARE = 0.75


@dataclass(frozen=True)
class CompactionOptions:
    """The numeric settings of :class:`~lovia.CompactingContextPolicy`; see there for each."""

    context_window_tokens: int | None
    trigger_ratio: float
    target_ratio: float
    trigger_tokens: int | None
    max_entries: int | None
    keep_initial_entries: int
    keep_recent_entries: int
    reactive_keep_recent_entries: int
    keep_recent_tool_results: int
    tool_result_budget_chars: int
    large_tool_result_chars: int
    tool_result_preview_chars: int
    reserve_output_tokens: int | None
    max_summary_failures: int
    max_reactive_retries: int
    keep_tools: Collection[str]
    summary_cooldown_seconds: float
    summary_timeout_seconds: float | None
    archive_timeout_seconds: float | None

    FIELDS: ClassVar[frozenset[str]]

    def __post_init__(self) -> None:
        """Refuse settings that make no sense."""
        self._check_ratios()
        for name in _OPTIONAL_SIZES:
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name), 1)
        for name in _COUNTS:
            _whole(name, getattr(self, name), 0)
        _whole("max_summary_failures", self.max_summary_failures, 1)
        _whole("reserve_output_tokens", self.reserve_output_tokens or 0, 0)
        self._check_seconds()
        if isinstance(self.keep_tools, str) or not isinstance(self.keep_tools, Collection):
            message = f"keep_tools={self.keep_tools!r} has to be a collection of tool names."
            raise UserError(message, hint=f"Write keep_tools=[{self.keep_tools!r}].")
        window, reserve = self.context_window_tokens, self.reserve_output_tokens or 0
        if window is not None and reserve >= window:
            message = (
                f"reserve_output_tokens={reserve} leaves nothing of context_window_tokens={window}."
            )
            raise UserError(message, hint="Reserve less, or state a larger window.")

    def _check_seconds(self) -> None:
        cooldown = self.summary_cooldown_seconds
        if not _is_number(cooldown) or not cooldown >= 0:
            message = f"summary_cooldown_seconds={cooldown!r} is no number of seconds."
            raise UserError(message, hint="Use zero or more, such as 300.")
        for name in _OPTIONAL_SECONDS:
            seconds = getattr(self, name)
            if seconds is not None and not (_is_number(seconds) and seconds > 0):
                message = f"{name}={seconds!r} is no time that anything could take."
                raise UserError(message, hint="Use seconds above 0, or None for no limit.")

    def _check_ratios(self) -> None:
        trigger, target = self.trigger_ratio, self.target_ratio
        if not _is_number(trigger) or not 0 < trigger <= 1:
            message = f"trigger_ratio={trigger!r} is no share of the window."
            raise UserError(message, hint="Use a number above 0 and at most 1, such as 0.8.")
        if not _is_number(target) or not 0 < target < trigger:
            message = f"target_ratio={target!r} is not below trigger_ratio={trigger}."
            hint = "Leave a gap, such as 0.6 and 0.8, so that compaction comes in rare bursts."
            raise UserError(message, hint=hint)


_OPTIONAL_SECONDS = ("summary_timeout_seconds", "archive_timeout_seconds")
_OPTIONAL_SIZES = ("context_window_tokens", "trigger_tokens", "max_entries")
_COUNTS = (
    "keep_initial_entries",
    "keep_recent_entries",
    "reactive_keep_recent_entries",
    "keep_recent_tool_results",
    "tool_result_budget_chars",
    "large_tool_result_chars",
    "tool_result_preview_chars",
    "max_reactive_retries",
)
CompactionOptions.FIELDS = frozenset(field.name for field in fields(CompactionOptions))


def renamed(old: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Translate keywords of earlier releases, with a ``DeprecationWarning`` for each.

    Args:
        old: The keywords as given.
        settings: What was given by today's names, defaults included.

    Raises:
        UserError: A keyword is neither a setting nor an old name of one; the hint names the
            nearest.
    """
    new: dict[str, Any] = {}
    for name, value in old.items():
        if name not in OLD_NAMES:
            near = get_close_matches(name, [*CompactionOptions.FIELDS, *OLD_NAMES], n=1)
            hint = (
                f"Did you mean {near[0]}?"
                if near
                else "See the documentation of CompactingContextPolicy."
            )
            message = f"CompactingContextPolicy has no setting {name!r}."
            raise UserError(message, hint=hint)
        message = f"{name} is now called {OLD_NAMES[name]}."
        warnings.warn(message, DeprecationWarning, stacklevel=3)
        new[OLD_NAMES[name]] = value
    trigger, target = new.get("trigger_ratio"), settings["target_ratio"]
    if _is_number(trigger) and _is_number(target) and target >= trigger:
        # Whoever writes the old name may not know that there is a target, which stands above it.
        new["target_ratio"] = trigger * _OLD_TARGET_SHARE
    return new


def _whole(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        message = f"{name}={value!r} has to be a whole number of at least {least}."
        raise UserError(message, hint=f"Set {name} to such a number.")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
