"""The summarizer that asks a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from lovia.context.policy import PolicyContext
from lovia.context.summarizer.calls import SummaryCalls
from lovia.context.summarizer.prompts import REQUIRED_SECTIONS
from lovia.context.summarizer.protocol import RequestTooLarge, Summary
from lovia.context.summarizer.reader import counter_of, run_window, spent_since
from lovia.context.summarizer.rendering import clip_entry, render_entry
from lovia.context.summarizer.request import RequestWriter
from lovia.context.summarizer.threads import counts_in_threads, is_large, off_loop
from lovia.errors import ContextOverflowError, UserError
from lovia.providers.base import (
    ModelSettings,
    Provider,
    model_name,
    provider_name,
    provider_window,
)
from lovia.retry import RetryPolicy
from lovia.tokens import counter_for

if TYPE_CHECKING:
    from lovia.context.summarizer.verdict import Verdict
    from lovia.tokens.counter import TokenCounter
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["LLMSummarizer"]

#: What the answer may take of a window that is known.
_OUTPUT_PART: Final = 8
_MIN_OUTPUT: Final = 64

Constraints: TypeAlias = str | Callable[[PolicyContext], str | None]


class LLMSummarizer:
    """Has a model write the summary, in requests that fit its window.

    A request is plain text without tools. Everything recorded stands in it between tags that
    recorded text cannot imitate. Transient errors are retried with back-off; a reply without text,
    cut off or without a required section is asked for once more; anything else that is no summary
    is rejected. The request never becomes part of a view, and the answer is not streamed to
    anybody.

    One instance may serve many runs at once.

    Args:
        provider: Who writes the summary; ``None``: the run's own provider.
        model: The model's name for telemetry and token counting, when ``provider`` does not tell.
        window_tokens: The context window in tokens, where the provider does not state it or states
            too much. Windows that refusals named count as well; the smallest one does.
        max_summary_tokens: Upper bound of a summary; never more than an eighth of the window.
        result_chars: Characters that are read of each tool result, each call's arguments and each
            thought. What users and the model said is read whole.
        retry: When a failed call is made again. Nobody has seen a partial answer, so
            ``restart_on_partial`` plays no part.
        timeout: Seconds for one summary, retries and waits included; ``None``: no limit but the
            policy's own.
        extra_instructions: Text that is added to the system prompt.
        constraints: Rules that bind the conversation and have to survive, such as project rules or
            pins: a text, or a function that returns one for a run.
        required_sections: Headings that a summary must have; an empty sequence asks for none.
        settings: Sampling settings; a ``max_tokens`` here replaces ``max_summary_tokens``.
        counter: Counts tokens; the pass's own counter by default.

    Raises:
        UserError: A model without a provider: the run's provider answers with its own model.
    """

    def __init__(  # noqa: PLR0913 - the public keyword surface; each is a setting of its own
        self,
        provider: Provider | None = None,
        model: str | None = None,
        *,
        window_tokens: int | None = None,
        max_summary_tokens: int = 4_000,
        result_chars: int = 2_000,
        retry: RetryPolicy | None = None,
        timeout: float | None = 180.0,
        extra_instructions: str | None = None,
        constraints: Constraints | None = None,
        required_sections: Sequence[str] = REQUIRED_SECTIONS,
        settings: ModelSettings | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        if model is not None and provider is None:
            hint = "Pass the provider that serves it: LLMSummarizer(provider)."
            raise UserError(f"LLMSummarizer got model {model!r} and no provider.", hint=hint)
        self.provider = provider
        self.model = model
        self.window_tokens = window_tokens
        self.max_summary_tokens = max_summary_tokens
        self.result_chars = result_chars
        self.retry: RetryPolicy = retry or RetryPolicy(max_attempts=3)
        self.timeout = timeout
        self.extra_instructions = extra_instructions
        self.constraints = constraints
        self.required_sections: tuple[str, ...] = tuple(required_sections)
        self.settings: ModelSettings = settings or ModelSettings()
        self.counter = counter
        if counter is None and provider is not None:
            self.counter = counter_for(provider, model)
        self._learned: dict[str, int] = {}  # windows that refusals named, by provider and model

    async def summarize(
        self,
        entries: Sequence[TranscriptEntry],
        *,
        ctx: PolicyContext,
        prior_summary: str | None = None,
        focus: str | None = None,
    ) -> Summary:
        """Return the model's summary; see :class:`Summarizer`.

        Raises:
            SummaryRejected: The reply is no summary.
            RequestTooLarge: The request would not fit the window, and was not sent.
            ContextOverflowError: The provider refused it as too large.
            ProviderError: The call failed for good, or the time was up.
            BudgetExceeded: Before a call, when the run's budget is spent.
            RunCancelled: At the checkpoint ``summary_stream``.
        """
        writer = self._writer(ctx, prior_summary, focus)
        clipped = [self.clip(entry) for entry in entries]
        large = counts_in_threads(writer.counter) and is_large(clipped, prior_summary)
        request = await off_loop(partial(_fitting, writer, clipped), large=large)
        calls = self._calls(ctx, writer.output)
        before = ctx.usage.clone()
        verdict = await calls.first(request)
        if verdict.worth_a_retry:
            correct = partial(_correction, writer, clipped, verdict)
            correction = await off_loop(correct, large=large)
            if correction is not None:
                verdict = await calls.again(correction, verdict)
        if not verdict.usable:
            raise verdict.error()
        return Summary(verdict.text, spent_since(before, ctx.usage), calls.attempts)

    def room(
        self, ctx: PolicyContext, *, prior_summary: str | None, focus: str | None
    ) -> int | None:
        """Return the tokens of entries that fit one request; ``None`` for an unknown window."""
        return self._writer(ctx, prior_summary, focus).room()

    def measure(self, entry: TranscriptEntry, ctx: PolicyContext) -> int:
        """Return the tokens that an entry takes in a request."""
        return self._counter(ctx).text(render_entry(self.clip(entry)))

    def clip(self, entry: TranscriptEntry) -> TranscriptEntry:
        """Return the entry with no more text than is read of it."""
        return clip_entry(entry, self.result_chars)

    def window(self, ctx: PolicyContext) -> int | None:
        """Return the window that requests have to fit, in counted tokens, or ``None``."""
        stated = run_window(ctx) if self.provider is None else provider_window(self.provider)
        others = (self.window_tokens, self._learned.get(self._key(ctx)))
        known = [stated, *(int(size / self._scale(ctx)) for size in others if size)]
        return min((size for size in known if size), default=None)

    def _scale(self, ctx: PolicyContext) -> float:
        """Return the provider's tokens per counted token, where they are known to be more."""
        of_run = self.provider is None and ctx.pressure is not None
        return max(ctx.pressure.scale, 1.0) if of_run and ctx.pressure else 1.0

    def _provider(self, ctx: PolicyContext) -> Provider:
        provider: Provider | None = self.provider or ctx.provider
        if provider is None:
            hint = "Pass LLMSummarizer(provider), or run it with a PolicyContext that has one."
            raise UserError("The summarizer has no provider to ask.", hint=hint)
        return provider

    def _model(self, ctx: PolicyContext) -> str | None:
        if self.provider is None:
            return model_name(ctx.provider, ctx.model)
        return model_name(self.provider, self.model)

    def _key(self, ctx: PolicyContext) -> str:
        return f"{provider_name(self.provider or ctx.provider)}/{self._model(ctx)}"

    def _counter(self, ctx: PolicyContext) -> TokenCounter:
        return self.counter or counter_of(ctx)

    def _writer(
        self, ctx: PolicyContext, prior_summary: str | None, focus: str | None
    ) -> RequestWriter:
        window = self.window(ctx)
        output = self.settings.max_tokens or self.max_summary_tokens
        if window is not None:
            output = min(output, max(window // _OUTPUT_PART, _MIN_OUTPUT))
        rules = self.constraints(ctx) if callable(self.constraints) else self.constraints
        return RequestWriter(
            counter=self._counter(ctx),
            window=window,
            output=output,
            extra_instructions=self.extra_instructions,
            rules=rules,
            required=self.required_sections,
            prior_summary=prior_summary,
            focus=focus,
        )

    def _calls(self, ctx: PolicyContext, output: int) -> SummaryCalls:
        return SummaryCalls(
            provider=self._provider(ctx),
            model=self._model(ctx),
            ctx=ctx,
            settings=replace(self.settings, max_tokens=output),
            retry=self.retry,
            timeout=self.timeout,
            required=self.required_sections,
            on_refused=partial(self._learn, ctx, output),
        )

    def _learn(
        self,
        ctx: PolicyContext,
        output: int,
        refusal: ContextOverflowError,
        request: Sequence[TranscriptEntry],
    ) -> None:
        """Remember the window that a refusal names, else that this request was too large for it."""
        sent = (self._counter(ctx).entries(request) + output) * self._scale(ctx)
        window = refusal.reported_window or max(int(sent) - 1, 1)
        key = self._key(ctx)
        self._learned[key] = min(window, self._learned.get(key, window))


def _fitting(writer: RequestWriter, entries: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
    """Return the request; raises :class:`RequestTooLarge` when it does not fit."""
    request = writer.write(entries)
    if writer.window is not None and (excess := writer.size(request) - writer.window) > 0:
        raise RequestTooLarge(excess, writer.window)
    return request


def _correction(
    writer: RequestWriter, entries: Sequence[TranscriptEntry], verdict: Verdict
) -> list[TranscriptEntry] | None:
    """Return the request that asks again, or ``None`` when it does not fit."""
    request = writer.correct(entries, verdict)
    if writer.window is not None and writer.size(request) > writer.window:
        return None
    return request
