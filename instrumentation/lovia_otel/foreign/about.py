"""What is known of a pass by others beforehand, and what it spent."""

from __future__ import annotations

from dataclasses import dataclass

from lovia_otel import names


@dataclass(frozen=True, kw_only=True)
class PassAbout:
    """What is known about a pass before it begins.

    ``per_call`` says that the policy gets the whole history and returns what one model call sends
    (as a history processor does), so that history, request and saving are those of a call. It is
    off where the result replaces the messages for good. ``in_runtime`` says that an instrumented
    runtime usually asks the policy: where one does, it records the sizes of each call itself.
    ``fixed_tokens`` are those of what each request carries beside the messages, such as tools.
    """

    policy: str
    trigger: str = names.TRIGGER_THRESHOLD
    agent: str | None = None
    session_id: str | None = None
    model: str | None = None
    provider: str | None = None
    window_tokens: int | None = None
    tokens_target: int | None = None
    per_call: bool = False
    in_runtime: bool = False
    fixed_tokens: int = 0


@dataclass(frozen=True, kw_only=True)
class PassSpent:
    """What a pass itself spent on summaries, as far as the policy tells."""

    summary_calls: int | None = None
    summary_input_tokens: int | None = None
    summary_output_tokens: int | None = None

    def __add__(self, other: PassSpent) -> PassSpent:
        return PassSpent(
            summary_calls=_sum(self.summary_calls, other.summary_calls),
            summary_input_tokens=_sum(self.summary_input_tokens, other.summary_input_tokens),
            summary_output_tokens=_sum(self.summary_output_tokens, other.summary_output_tokens),
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one + (other or 0)
