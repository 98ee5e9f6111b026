"""Policies that the replay's tests send transcripts through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia.context.policy import (
    ArchiveRef,
    ContextPolicyResult,
    ContextSizes,
    PolicyContext,
    StageRecord,
)
from lovia.transcript.pairing import newest_user, pair
from lovia.usage import Usage
from tests.notation import COUNTER

if TYPE_CHECKING:
    from lovia.errors import ContextOverflowError
    from lovia.transcript.entries import TranscriptEntry


class Everything:
    """Sends the transcript, and keeps what it was given."""

    def __init__(self) -> None:
        self.seen: list[tuple[TranscriptEntry, ...]] = []
        self.contexts: list[PolicyContext] = []

    async def apply(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext
    ) -> ContextPolicyResult:
        """Return the transcript itself."""
        self.seen.append(tuple(entries))
        self.contexts.append(ctx)
        return ContextPolicyResult(entries, changed=False)


class Tail:
    """Keeps the newest user message and the last units that fit; says all about its passes.

    Args:
        limit: Request tokens above which a pass runs.
        reactive_limit: What a refused request is cut to.
    """

    def __init__(self, limit: int, reactive_limit: int | None = None) -> None:
        self.limit = limit
        self.reactive_limit = reactive_limit
        self.refused = 0

    async def apply(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext
    ) -> ContextPolicyResult:
        """Cut when the whole transcript is over the limit."""
        return self._cut(entries, ctx, self.limit)

    async def apply_reactive(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext, error: ContextOverflowError
    ) -> ContextPolicyResult:
        """Cut harder, or give the refusal back."""
        self.refused += 1
        if self.reactive_limit is None:
            raise error
        return self._cut(entries, ctx, self.reactive_limit)

    def _cut(
        self, entries: list[TranscriptEntry], ctx: PolicyContext, limit: int
    ) -> ContextPolicyResult:
        history = COUNTER.entries(entries)
        window = ctx.provider.context_window()
        if history <= limit:
            sizes = ContextSizes(history, history, history, window, "bytes")
            return ContextPolicyResult(entries, changed=False, sizes=sizes)
        view = tail_of(entries, limit)
        after = COUNTER.entries(view)
        ctx.state["passes"] = ctx.state.get("passes", 0) + 1
        return ContextPolicyResult(
            view,
            changed=True,
            reason="middle_snip",
            outcome="compacted",
            view="compacted",
            sizes=ContextSizes(history, history, after, window, "bytes"),
            stages=(StageRecord("middle_snip", "applied", history, after, "cut", 0.25),),
            usage=Usage(input_tokens=30, output_tokens=12),
            archive_ref=ArchiveRef(".archive/1.jsonl"),
        )


class BareList:
    """Returns a bare list, as older user code does."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    async def apply(self, entries: list[TranscriptEntry], *, ctx: Any) -> list[TranscriptEntry]:
        """Return the tail."""
        return tail_of(entries, self.limit)


def tail_of(entries: list[TranscriptEntry], limit: int) -> list[TranscriptEntry]:
    """Return the first entry, the newest user message, and the last whole units within a limit."""
    kept = {0, newest_user(entries) or 0}
    for unit in reversed(pair(entries).units):
        wanted = kept | set(unit.indices())
        if COUNTER.entries(entries[k] for k in wanted) > limit and len(kept) > 2:
            break
        kept = wanted
    return [entries[k] for k in sorted(kept)]
