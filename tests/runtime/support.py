"""What the tests of the runtime share: plain policies, agents on a script, event lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia import Agent
from lovia.context.policy import ContextPolicyResult
from lovia.testing import ScriptedProvider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lovia import RunHandle, TranscriptEntry
    from lovia.context.policy import PolicyContext
    from lovia.errors import ContextOverflowError
    from lovia.events import Event


class Untouched:
    """A policy that sends the transcript as it is, and keeps the contexts it was called with."""

    def __init__(self) -> None:
        self.contexts: list[PolicyContext] = []

    async def apply(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext
    ) -> ContextPolicyResult:
        """Return the transcript."""
        self.contexts.append(ctx)
        return ContextPolicyResult(entries, changed=False)


class Newest(Untouched):
    """A policy that keeps the newest entries; after a refusal, fewer of them.

    `reactive` says how many are kept after the first refusal, the second, and so on.
    """

    def __init__(self, keep: int, *, reactive: Iterable[int] = (), retries: int = 1) -> None:
        super().__init__()
        self.keep = keep
        self.max_reactive_retries = retries
        self._reactive = list(reactive)
        self.refusals: list[ContextOverflowError] = []

    async def apply(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext
    ) -> ContextPolicyResult:
        """Return the newest entries."""
        self.contexts.append(ctx)
        view = entries[-self.keep :]
        return ContextPolicyResult(view, changed=len(view) < len(entries), reason="middle_snip")

    async def apply_reactive(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext, error: ContextOverflowError
    ) -> ContextPolicyResult:
        """Return fewer of them."""
        self.contexts.append(ctx)
        self.refusals.append(error)
        self.keep = self._reactive.pop(0)
        view = entries[-self.keep :]
        return ContextPolicyResult(view, changed=True, reason="reactive_summary")


def scripted(*script: Any, provider: ScriptedProvider | None = None, **fields: Any) -> Agent[Any]:
    """Return an agent that follows a script; its policy leaves the transcript alone."""
    fields.setdefault("name", "bot")
    fields.setdefault("context_policy", Untouched())
    return Agent(model=provider or ScriptedProvider(script), **fields)


def provider_of(agent: Agent[Any]) -> ScriptedProvider:
    """Return the provider behind an agent."""
    assert isinstance(agent.model, ScriptedProvider)
    return agent.model


async def events_of(handle: RunHandle, react: Callable[[Event], None] | None = None) -> list[Event]:
    """Read all events of a run, doing something about each."""
    seen: list[Event] = []
    async with handle:
        async for event in handle:
            seen.append(event)
            if react is not None:
                react(event)
    return seen


def kinds(events: Iterable[Event]) -> list[str]:
    """Return the class names of events."""
    return [type(event).__name__ for event in events]
