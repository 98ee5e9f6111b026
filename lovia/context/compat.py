"""What keeps code of earlier releases working."""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any

from lovia.context.compacting import CompactingContextPolicy
from lovia.context.policy import ContextPolicyResult, PolicyContext
from lovia.context.summary_entry import SUMMARY_FRAME, SUMMARY_LABELS
from lovia.transcript.entries import InputEntry, TranscriptEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.errors import ContextOverflowError
    from lovia.usage import Usage

__all__ = [
    "CompactRequest",
    "CompactRequestAdapter",
    "NoopContextPolicy",
    "SummarizingContextPolicy",
    "as_result",
    "extract_compaction_summary",
]

_warned: set[type] = set()


class NoopContextPolicy:
    """Sends the transcript as it is."""

    async def apply(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext
    ) -> ContextPolicyResult:
        """Return the transcript unchanged."""
        return ContextPolicyResult(entries, changed=False)


class SummarizingContextPolicy(CompactingContextPolicy):
    """The former name of :class:`CompactingContextPolicy`, to which it delegates everything."""


def extract_compaction_summary(entries: Sequence[TranscriptEntry]) -> str | None:
    """Find the summary text in a list that an old list-returning policy produced.

    A legacy helper: a summary comes with :class:`ContextPolicyResult`, never out of text.

    Returns:
        The text behind the label of the last summary entry, or ``None``.
    """
    for entry in reversed(entries):
        if isinstance(entry, InputEntry) and isinstance(entry.content, str):
            for label in SUMMARY_LABELS:
                if entry.content.startswith(label):
                    text = entry.content.removeprefix(label).rstrip()
                    return text.removesuffix(SUMMARY_FRAME).strip() or None
    return None


def as_result(
    returned: ContextPolicyResult | list[TranscriptEntry],
    entries: list[TranscriptEntry],
    policy: object,
) -> ContextPolicyResult:
    """Accept what a policy returned: a result, or the bare list of older user code.

    A bare list draws one ``DeprecationWarning`` per policy class.
    """
    if isinstance(returned, ContextPolicyResult):
        return returned
    kind = type(policy)
    if kind not in _warned:
        _warned.add(kind)
        message = f"{kind.__qualname__} returns a list; return a ContextPolicyResult instead."
        warnings.warn(message, DeprecationWarning, stacklevel=3)
    view = list(returned)
    changed = view != entries
    summary = extract_compaction_summary(view) if changed else None
    return ContextPolicyResult(
        view, changed, summary=summary, view="compacted" if changed else "original"
    )


class CompactRequest:
    """What a policy of the 0.9 line reads in ``compact(req)``.

    Attributes:
        entries: The transcript.
        provider: The provider that will be called.
        model: The model that will answer.
        tools: The request's tools.
        last_input_tokens: Prompt tokens of the last call.
        overflow: Whether the provider refused the last request.
        reported_window: The window that its refusal named.
        scratch: The policy's memory, saved with checkpoint and session.
        usage: Where it reports what its own model calls spend.
    """

    def __init__(
        self, entries: list[TranscriptEntry], ctx: PolicyContext, error: ContextOverflowError | None
    ) -> None:
        self.entries = entries
        self.provider: Any = ctx.provider
        self.model: str | None = ctx.model
        self.tools: Sequence[Any] = ctx.tools
        self.last_input_tokens: int | None = ctx.last_input_tokens
        self.overflow: bool = error is not None
        self.reported_window: int | None = error.reported_window if error else None
        self.scratch: dict[str, Any] = ctx.state.setdefault("scratch", {})
        self.usage: Usage = ctx.usage


class CompactRequestAdapter:
    """Lets a policy with ``async compact(req)`` serve where ``apply`` is expected.

    Args:
        policy: The policy of the 0.9 line.
    """

    def __init__(self, policy: Any) -> None:
        self.wrapped = policy

    async def apply(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext
    ) -> ContextPolicyResult:
        """Ask the wrapped policy for its view."""
        return await self._compact(entries, ctx, None)

    async def apply_reactive(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext, error: ContextOverflowError
    ) -> ContextPolicyResult:
        """Ask the wrapped policy for a smaller view."""
        return await self._compact(entries, ctx, error)

    def tools(self) -> list[Any]:
        """Return the wrapped policy's tools."""
        tools = getattr(self.wrapped, "tools", None)
        return list(tools()) if callable(tools) else []

    async def _compact(
        self, entries: list[TranscriptEntry], ctx: PolicyContext, error: ContextOverflowError | None
    ) -> ContextPolicyResult:
        outcome = self.wrapped.compact(CompactRequest(entries, ctx, error))
        result = await outcome if inspect.isawaitable(outcome) else outcome
        view = list(result.entries)
        changed = bool(getattr(result, "changed", view != entries))
        compacted = bool(getattr(result, "compacted", False))
        kind = "compacted" if compacted else ("replayed" if changed else "original")
        return ContextPolicyResult(
            view,
            changed,
            summary=getattr(result, "summary", None),
            metadata={"detail": list(getattr(result, "detail", ()) or ())},
            outcome="compacted" if compacted else None,
            view=kind,  # type: ignore[arg-type] # one of the three words above
        )
