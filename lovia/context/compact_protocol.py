"""Policies of the 0.9 line, which have ``async compact(req)`` where ours have ``apply``."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lovia.context.policy import ContextPolicyResult
from lovia.transcript.entries import InputEntry
from lovia.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context.policy import PolicyContext
    from lovia.errors import ContextOverflowError
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["CompactPolicyAdapter", "CompactionRequest", "ContextResult"]


@dataclass
class CompactionRequest:
    """What such a policy is asked.

    Attributes:
        entries: The transcript, behind the system prompt of the call.
        provider: The provider that will be called.
        model: The model that will answer.
        tools: The request's tools.
        last_input_tokens: Prompt tokens of the last call.
        overflow: Whether the provider refused the last request.
        reported_window: The window in tokens that its refusal named.
        scratch: The policy's memory, JSON-safe; saved with checkpoint and session.
        usage: Where the policy reports what its own model calls spend.
    """

    entries: list[TranscriptEntry]
    provider: Any = None
    model: str | None = None
    tools: Sequence[Any] = ()
    last_input_tokens: int | None = None
    overflow: bool = False
    reported_window: int | None = None
    scratch: dict[str, Any] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)

    @classmethod
    def of(
        cls,
        entries: list[TranscriptEntry],
        ctx: PolicyContext,
        error: ContextOverflowError | None = None,
    ) -> CompactionRequest:
        """Describe the call that a policy of ours would be given with ``ctx``."""
        return cls(
            entries=entries,
            provider=ctx.provider,
            model=ctx.model,
            tools=ctx.tools,
            last_input_tokens=ctx.last_input_tokens,
            overflow=error is not None,
            reported_window=error.reported_window if error else None,
            scratch=ctx.state.setdefault("scratch", {}),
            usage=ctx.usage,
        )


@dataclass
class ContextResult:
    """What such a policy answers.

    Attributes:
        entries: The view.
        changed: Whether it differs from the transcript.
        compacted: Whether it was cut anew, which is told as ``ContextCompacted``.
        reason: Why, in a word.
        summary: Text newly produced.
        tokens_before: Request tokens without this pass, by the policy's own count.
        tokens_after: The same with it. Events and telemetry state what the runner counted.
        detail: Sentences for people.
    """

    entries: list[TranscriptEntry]
    changed: bool = False
    compacted: bool = False
    reason: str | None = None
    summary: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    detail: list[str] = field(default_factory=list)


class CompactPolicyAdapter:
    """Lets a policy with ``async compact(req)`` serve where ``apply`` is expected.

    Args:
        policy: The policy of the 0.9 line.

    Attributes:
        wrapped: That policy.
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
        # Such a policy expects the system prompt where it always found it. Here the prompt is the
        # request's and no part of a view, so it is taken off again.
        prompt = [InputEntry("system", ctx.instructions)] if ctx.instructions else []
        answer = self.wrapped.compact(CompactionRequest.of([*prompt, *entries], ctx, error))
        result = await answer if inspect.isawaitable(answer) else answer
        view = list(result.entries)
        if prompt and view[:1] == prompt:
            del view[0]
        return _as_ours(result, view, changed=view != entries)


def _as_ours(result: Any, view: list[TranscriptEntry], *, changed: bool) -> ContextPolicyResult:
    compacted = bool(getattr(result, "compacted", False))
    return ContextPolicyResult(
        view,
        changed,
        summary=getattr(result, "summary", None),
        reason=getattr(result, "reason", None) if compacted else None,
        metadata={"detail": list(getattr(result, "detail", None) or ())},
        outcome="compacted" if compacted else None,
        view="compacted" if compacted else ("replayed" if changed else "original"),
    )
