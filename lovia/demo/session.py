"""The demo's session: an agent that reads its own source until its context window is too small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lovia.context.archive import FileCompactionArchive
from lovia.context.compacting import CompactingContextPolicy
from lovia.demo.script import TASK, describe_call, scripted_model
from lovia.events import MessageCompleted, TurnEnded
from lovia.replay.recorder import Ruler, TurnRecorder
from lovia.replay.result import ReplayResult, ReplayTurn
from lovia.runtime.agent import Agent
from lovia.runtime.runner import Runner
from lovia.tokens.estimators import default_counter
from lovia.transcript.entries import ToolCallEntry
from lovia.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lovia.context.policy import ContextPolicyResult, PolicyContext
    from lovia.demo.workspace import Workspace
    from lovia.errors import ContextOverflowError
    from lovia.events import Event
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["WINDOW_CONFIGURED", "WINDOW_SERVED", "DemoSession", "DemoTurn"]

#: The window in tokens that the policy is told, as a model card might say.
WINDOW_CONFIGURED: Final = 20_000
#: The window that the endpoint really serves; the difference is what one refusal teaches.
WINDOW_SERVED: Final = 12_000
#: What a session has to show, and which reason or stage of a pass shows it.
_ARCHIVED: Final = "an oversized tool result archived"
SIGHTS: Final = {
    _ARCHIVED: "tool_result_budget",
    "the middle snipped": "middle_snip",
    "old tool results cleared": "tool_result_retention",
    "a summary written": "auto_summary",
    "a refused request compacted reactively": "reactive_summary",
}
_INSTRUCTIONS: Final = (
    "You explore a code base with your tools and report what you find. Say in a few sentences what "
    "you learned before you go on. Name files and lines exactly."
)


@dataclass(frozen=True, slots=True)
class DemoTurn:
    """One turn of the session: its sizes and passes, and which tools the model called."""

    record: ReplayTurn
    calls: tuple[str, ...]


class _WatchedPolicy(CompactingContextPolicy):
    """The policy as it is, with a recorder beside it."""

    recorder: TurnRecorder | None = None

    async def apply(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext
    ) -> ContextPolicyResult:
        """Return the view for the next call, and begin a record of it."""
        ruler = Ruler(default_counter(), window=self.context_window_tokens)
        self.recorder = TurnRecorder(entries, ruler)
        return await self.recorder.watch(self, super().apply(entries, ctx=ctx))

    async def apply_reactive(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext, error: ContextOverflowError
    ) -> ContextPolicyResult:
        """Return a smaller view after a refusal, in the record of the same call."""
        work = super().apply_reactive(entries, ctx=ctx, error=error)
        if self.recorder is None:
            return await work
        return await self.recorder.watch(self, work, reactive=True)


class DemoSession:
    """A session of the demo's agent.

    Args:
        workspace: Where the agent works.
        archive: The folder that keeps what compaction removes.

    Attributes:
        turns: The turns made so far.
        answer: The agent's final answer, or ``None``.
        usage: What all model calls spent, summaries included.
    """

    def __init__(self, workspace: Workspace, archive: Path) -> None:
        self.turns: list[DemoTurn] = []
        self.answer: str | None = None
        self.usage: Usage = Usage()
        self.workspace = workspace
        self._archive = archive
        self._calls: tuple[str, ...] = ()
        self._policy = _policy(archive)
        self._agent = Agent(
            name="explorer",
            instructions=_INSTRUCTIONS,
            model=scripted_model(workspace, window=WINDOW_SERVED),
            tools=workspace.tools(),
            context_policy=self._policy,
        )

    async def run(self, on_turn: Callable[[DemoTurn], None]) -> None:
        """Run the session to its end.

        Args:
            on_turn: Told of each turn when it is over.

        Raises:
            Exception: What the run failed with.
        """
        async with Runner.stream(self._agent, TASK, max_turns=100) as handle:
            async for event in handle:
                if self._take_down(event):
                    on_turn(self.turns[-1])
            result = await handle.result()
        self.answer, self.usage = str(result.output), result.usage

    @property
    def result(self) -> ReplayResult:
        """The session in the form of a replay, for the report."""
        return ReplayResult(
            name="lovia demo",
            policy=f"window configured {WINDOW_CONFIGURED:,}, served {WINDOW_SERVED:,} tokens",
            window=WINDOW_SERVED,
            turns=tuple(turn.record for turn in self.turns),
            digest="",
        )

    def sights(self) -> dict[str, bool]:
        """Return what the session has to show, and whether it did."""
        applied = {
            stage.name
            for turn in self.turns
            for done in turn.record.passes
            for stage in done.stages
            if stage.outcome == "applied"
        }
        shown = {sight: stage in applied for sight, stage in SIGHTS.items()}
        kept = any((self._archive / "tool-results").rglob("*.txt"))
        return shown | {_ARCHIVED: shown[_ARCHIVED] and kept}

    def _take_down(self, event: Event) -> bool:
        """Take an event in; return whether it ended a turn."""
        if isinstance(event, MessageCompleted):
            calls = (entry for entry in event.entries if isinstance(entry, ToolCallEntry))
            self._calls = tuple(map(describe_call, calls))
        recorder = self._policy.recorder
        if not isinstance(event, TurnEnded) or recorder is None:
            return False
        self.turns.append(DemoTurn(recorder.turn(event.turn), self._calls))
        return True


def _policy(archive: Path) -> _WatchedPolicy:
    """Return the default policy with limits that suit a session of a few dozen turns."""
    return _WatchedPolicy(
        context_window_tokens=WINDOW_CONFIGURED,
        max_entries=32,
        keep_recent_entries=14,
        archive=FileCompactionArchive(archive),
    )
