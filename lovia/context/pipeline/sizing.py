"""How large a request is, by the best number at hand, and how large it may be.

A counter's estimate is corrected by what the provider counted for earlier requests of the same
provider and model. A correction is trusted only while it is plausible; a count that was taken
before a pass changed the view says nothing about the view after it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lovia.context.strict import number, whole
from lovia.providers.base import model_name, provider_name
from lovia.tokens import counter_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lovia.context.policy import PolicyContext
    from lovia.tokens.counter import TokenCounter, TokenSource
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["ModelFacts", "RequestSize", "WindowLimits", "current_prompt_tokens", "facts_key"]

#: A provider's count further than this factor from the estimate is no calibration: it belongs to
#: another request, or the request holds much that we cannot see.
_PLAUSIBLE = (0.4, 2.5)
#: Requests below this many estimated tokens say little: fixed framing dominates them.
_MIN_TOKENS = 200
#: Weight of the newest observation in the running ratio.
_LEARNING_RATE = 0.5
#: A ratio is saved outside a pass when it moved by more than this share.
_DRIFT = 0.05


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What was learned about one provider and model.

    Attributes:
        ratio: Provider tokens per estimated token, or ``None`` before the first plausible count.
        window: The context window that the provider's own rejections showed, in tokens, or
            ``None``.
    """

    ratio: float | None = None
    window: int | None = None

    def observe(self, estimate: int, reported: int) -> ModelFacts:
        """Learn from a request that was estimated and then counted by the provider."""
        if estimate < _MIN_TOKENS or not _PLAUSIBLE[0] <= reported / estimate <= _PLAUSIBLE[1]:
            return self
        seen = reported / estimate
        ratio = seen if self.ratio is None else self.ratio + _LEARNING_RATE * (seen - self.ratio)
        return replace(self, ratio=round(ratio, 4))

    def rejected(self, request: int, reported_window: int | None) -> ModelFacts:
        """Learn from a refusal: the window it names, else that this request was too large."""
        window = reported_window if reported_window and reported_window > 0 else max(request - 1, 1)
        return replace(self, window=min(window, self.window or window))

    def with_others(self, others: ModelFacts) -> ModelFacts:
        """Add what was learned elsewhere: a ratio where there is none, and the smaller window."""
        windows = [window for window in (self.window, others.window) if window is not None]
        ratio = self.ratio if self.ratio is not None else others.ratio
        return ModelFacts(ratio, min(windows, default=None))

    def differs_from(self, saved: Mapping[str, Any]) -> bool:
        """Tell whether this says something else than a saved form, small changes left out."""
        ratio = saved.get("ratio")
        if self.window != saved.get("window") or self.ratio is None or ratio is None:
            return self.to_json() != {"ratio": ratio, "window": saved.get("window")}
        return bool(abs(self.ratio - ratio) > ratio * _DRIFT)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON-safe form."""
        return {"ratio": self.ratio, "window": self.window}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ModelFacts:
        """Rebuild from :meth:`to_json`; raises ``ValueError`` on damage."""
        ratio, window = data.get("ratio"), data.get("window")
        least, most = _PLAUSIBLE
        return cls(
            None if ratio is None else number(ratio, least=least, most=most),
            None if window is None else whole(window, least=1),
        )


def facts_key(ctx: PolicyContext, counter: TokenCounter) -> str:
    """Return the key of what is learned: provider, model, and whose estimate is corrected."""
    return f"{provider_name(ctx.provider)}/{model_name(ctx.provider, ctx.model)}/{counter.source}"


@dataclass(frozen=True, slots=True)
class WindowLimits:
    """Window, trigger and target of one request, in tokens; ``None`` where nobody knows.

    Attributes:
        window: The model's context window.
        trigger: Above this the policy acts.
        target: What a pass aims for.
    """

    window: int | None
    trigger: int | None
    target: int | None

    @classmethod
    def of(
        cls,
        *,
        configured: int | None,
        stated: int | None,
        learned: int | None,
        reserve: int,
        trigger_ratio: float,
        target_ratio: float,
        trigger_tokens: int | None,
    ) -> WindowLimits:
        """Combine the settings with what the provider states and what its rejections taught.

        The reserve was chosen for a window that was known. Of one that turns out to be smaller it
        takes half at the most.
        """
        known = [size for size in (configured or stated, learned) if size]
        window = min(known) if known else None
        if window is not None and window != configured:
            reserve = min(reserve, window // 2)
        usable = None if window is None else max(window - reserve, 1)
        candidates = [trigger_tokens] if trigger_tokens else []
        if usable is not None:
            candidates.append(int(usable * trigger_ratio))
        if not candidates:
            return cls(window, None, None)
        trigger = min(candidates)
        target = int(trigger * target_ratio / trigger_ratio)
        return cls(window, trigger, target)


@dataclass(frozen=True, slots=True)
class RequestSize:
    """The sizes of one request, before anything is done about it.

    Attributes:
        raw: Counted tokens of the request: view and overhead.
        tokens: The same, corrected by the provider's counts.
        scale: ``tokens`` per counted token.
        source: Where ``tokens`` comes from.
    """

    raw: int
    tokens: int
    scale: float
    source: TokenSource

    @classmethod
    def of(
        cls, raw: int, facts: ModelFacts, last_input_tokens: int | None, source: TokenSource
    ) -> RequestSize:
        """Take the larger of the corrected estimate and the provider's last count.

        Window questions are answered by prompt tokens of one call; totals of a run never enter
        here.
        """
        tokens = round(raw * facts.ratio) if facts.ratio else raw
        origin: TokenSource = "provider" if facts.ratio else source
        if last_input_tokens is not None and last_input_tokens > tokens:
            tokens, origin = last_input_tokens, "provider"
        return cls(raw, tokens, tokens / raw if raw else 1.0, origin)


def current_prompt_tokens(entries: Sequence[TranscriptEntry], ctx: PolicyContext) -> int:
    """Return how many prompt tokens a call with these entries takes now.

    Args:
        entries: What would be sent.
        ctx: The call; its instructions, tools and response format are part of the request.

    Returns:
        The larger of the estimate and ``ctx.last_input_tokens``, in tokens.
    """
    counter = counter_for(ctx.provider, ctx.model)
    estimate = counter.entries(entries) + counter.overhead(
        instructions=ctx.instructions, tools=ctx.tools, response_format=ctx.response_format
    )
    return max(estimate, ctx.last_input_tokens or 0)
