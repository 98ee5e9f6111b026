"""The model calls of one summary: retried where that helps, corrected once, with a deadline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from lovia.context.summarizer.attempt import ask
from lovia.context.summarizer.verdict import Verdict, judge
from lovia.errors import BudgetExceeded, ContextOverflowError, ProviderError, RunCancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lovia.context.policy import PolicyContext
    from lovia.providers.base import ModelSettings, Provider
    from lovia.retry import RetryPolicy
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["SummaryCalls"]


@dataclass(kw_only=True)
class SummaryCalls:
    """Asks a model for one summary, as often as is sensible.

    Attributes:
        provider: Who answers.
        model: The model's name, for telemetry.
        ctx: The run.
        settings: How to answer.
        retry: Which failed calls are made again.
        timeout: Seconds for all calls and waits together; ``None``: no limit.
        required: Sections that the summary must have.
        on_refused: Told each refusal for size, and the request that was refused.
        attempts: Calls made so far.
    """

    provider: Provider
    model: str | None
    ctx: PolicyContext
    settings: ModelSettings
    retry: RetryPolicy
    timeout: float | None
    required: Sequence[str]
    on_refused: Callable[[ContextOverflowError, Sequence[TranscriptEntry]], None]
    attempts: int = 0

    def __post_init__(self) -> None:
        limit = float("inf") if self.timeout is None else self.timeout
        self._deadline = anyio.current_time() + limit

    async def first(self, request: Sequence[TranscriptEntry]) -> Verdict:
        """Send the request and judge the reply."""
        return await self._ask(request)

    async def again(self, correction: Sequence[TranscriptEntry], first: Verdict) -> Verdict:
        """Send a correction of a first reply; that one stands where the second is no better."""
        try:
            second = await self._ask(correction)
        except (RunCancelled, BudgetExceeded):
            raise
        except Exception:
            if first.usable:
                return first
            raise
        if first.usable and (not second.usable or len(second.missing) > len(first.missing)):
            return first
        return second

    async def _ask(self, request: Sequence[TranscriptEntry]) -> Verdict:
        failures = 0
        while True:
            try:
                return await self._ask_once(request)
            except (RunCancelled, BudgetExceeded):
                raise
            except ContextOverflowError as refusal:
                self.on_refused(refusal, request)
                raise
            except Exception as error:  # noqa: BLE001 - the retry policy judges each kind
                failures += 1
                await self._wait_or_raise(error, failures)

    async def _ask_once(self, request: Sequence[TranscriptEntry]) -> Verdict:
        if self.ctx.budget is not None:
            self.ctx.budget.check(self.ctx.usage)
        self.attempts += 1
        reply = await ask(
            self.provider,
            request,
            ctx=self.ctx,
            model=self.model,
            settings=self.settings,
            deadline=self._deadline,
        )
        return judge(reply, self.required)

    async def _wait_or_raise(self, error: Exception, failures: int) -> None:
        """Wait before the next attempt, or raise where there is to be none."""
        if anyio.current_time() >= self._deadline:
            message = f"The summary was not finished after {self.timeout:g} seconds."
            hint = "Raise LLMSummarizer(timeout=...), or give it a faster model."
            raise ProviderError(message, hint=hint, retryable=True) from error
        if failures >= self.retry.max_attempts or not self.retry.retry_on(error):
            raise error
        delay = self.retry.backoff_delay(failures, error)
        if anyio.current_time() + delay >= self._deadline:
            raise error
        self.ctx.checkpoint("summary_stream")
        await self.retry.sleep(delay)
        self.ctx.checkpoint("summary_stream")
