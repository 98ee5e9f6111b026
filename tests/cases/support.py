"""A conversation through a policy, with every view judged; models that follow a script."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lovia import tool
from lovia.context import CompactingContextPolicy, ContextPolicyResult, PolicyContext
from lovia.context.summarizer import LLMSummarizer
from lovia.errors import ContextOverflowError
from lovia.testing import ScriptedProvider, call, text
from lovia.transcript import InputEntry, TranscriptEntry, entries_to_json, validate_view
from lovia.usage import Usage
from tests.context.summarizer.fakes import GOOD, FakeModel, no_wait
from tests.notation import COUNTER, words
from tests.runtime.support import scripted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def check_view(
    view: Sequence[TranscriptEntry],
    transcript: Sequence[TranscriptEntry],
    pending: Collection[str] = (),
) -> None:
    """Raise when a provider would refuse the view, or it breaks a promise to its transcript."""
    validate_view(view, transcript=transcript, pending=pending)
    json.dumps(entries_to_json(view), ensure_ascii=False).encode()


def policy_of(model: FakeModel | None = None, **settings: Any) -> CompactingContextPolicy:
    """Return a policy that counts four characters as a token; a model writes its summaries."""
    settings.setdefault("token_counter", COUNTER)
    settings.setdefault("summarizer", LLMSummarizer(model or FakeModel(), retry=no_wait()))
    return CompactingContextPolicy(**settings)


class Conversation:
    """A transcript that grows, and the views that a policy makes of it.

    Each view is checked, and so is that the transcript was left alone. What a call is told of the
    run beside the transcript can be given once, or with each call.
    """

    def __init__(
        self, policy: CompactingContextPolicy, *entries: TranscriptEntry, **told: Any
    ) -> None:
        self.policy = policy
        self.transcript = list(entries)
        self.state: dict[str, Any] = {}
        self.usage = Usage()
        self.told = {"session_id": "s", **told}

    async def view(self, *new: TranscriptEntry, **told: Any) -> ContextPolicyResult:
        """Append entries and return the view for the next call."""
        self.transcript.extend(new)
        return await self._checked(self.policy.apply, told)

    async def refused(self, window: int | None = None, **told: Any) -> ContextPolicyResult:
        """Return the view after the provider refused the last one."""
        error = ContextOverflowError(reported_window=window)
        return await self._checked(self.policy.apply_reactive, told, error=error)

    async def compacted(self, **how: Any) -> ContextPolicyResult:
        """Return the view after somebody asked for a compaction."""
        return await self._checked(self.policy.compact_now, {}, **how)

    def resumed(self, policy: CompactingContextPolicy) -> Conversation:
        """Return the same conversation in another process: only JSON has survived."""
        other = Conversation(policy, *self.transcript, **self.told)
        other.state = json.loads(json.dumps(self.state))
        return other

    async def _checked(self, call: Any, told: dict[str, Any], **how: Any) -> ContextPolicyResult:
        before = list(self.transcript)
        ctx = PolicyContext(state=self.state, usage=self.usage, **{**self.told, **told})
        result: ContextPolicyResult = await call(self.transcript, ctx=ctx, **how)
        assert len(self.transcript) == len(before)
        assert all(old is new for old, new in zip(before, self.transcript, strict=True))
        check_view(result.entries, self.transcript, ctx.pending_calls)
        # A view that is the transcript itself would grow with it.
        return replace(result, entries=list(result.entries))


def summaries(view: Sequence[TranscriptEntry]) -> list[InputEntry]:
    """Return the summary entries of a view."""
    return [entry for entry in view if isinstance(entry, InputEntry) and entry.origin == "summary"]


@tool
def read(page: int) -> str:
    """Read a page."""
    return f"page {page} " + words(200, f"p{page}")


def reader(*, summarize: Any = f"{GOOD}\nsecret-summary-word", **settings: Any) -> Any:
    """Return an agent that reads more pages than its model's window can hold."""
    script = [*(call("read", {"page": n}, call_id=f"c{n}") for n in range(20)), text("all read")]
    provider = ScriptedProvider(script, window=4_000, usage="counted", summarize=summarize)
    settings = {"keep_recent_entries": 10, "keep_recent_tool_results": 20, **settings}
    policy = policy_of(summarizer=None, token_counter=None, max_entries=None, **settings)
    return scripted(provider=provider, tools=[read], context_policy=policy)
