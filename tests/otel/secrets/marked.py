"""A run in which everything that people, models, tools and servers say carries its own mark."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from lovia import (
    Agent,
    CheckpointOptions,
    CompactingContextPolicy,
    ProviderError,
    RetryPolicy,
    Runner,
    tool,
)
from lovia.context import (
    AutoSummaryStage,
    FileCompactionArchive,
    LLMSummarizer,
    StageResult,
    ToolResultBudgetStage,
)
from lovia.stores import SQLiteCheckpointer, SQLiteSession
from lovia.testing import AssistantTurn, ScriptedProvider, batch, broken, call, text

if TYPE_CHECKING:
    from pathlib import Path

    from lovia import AgentHooks

#: Every mark begins like this, so that one search finds all of them, however they were told.
MARK: Final = "zqx"

USER: Final = f"{MARK}-user"
INSTRUCTIONS: Final = f"{MARK}-instructions"
DESCRIPTION: Final = f"{MARK}-description"
ARGUMENTS: Final = f"{MARK}-arguments"
RESULT: Final = f"{MARK}-result"
THOUGHT: Final = f"{MARK}-thought"
ANSWER: Final = f"{MARK}-answer"
SUMMARY: Final = f"{MARK}-summary"
UNKNOWN_TOOL: Final = f"{MARK}-unknown-tool"
TOOL_ERROR: Final = f"{MARK}-tool-error"
STAGE_ERROR: Final = f"{MARK}-stage-error"
SERVER_ERROR: Final = f"{MARK}-server-error"
FOLDER: Final = f"{MARK}-folder"
HANDOFF: Final = f"{MARK}-handoff"

#: What each kind of content may be seen of when capture is on.
CAPTURED: Final = (USER, ARGUMENTS, RESULT, ANSWER, SUMMARY)


class FailingStage:
    """A stage of somebody's own, which quotes what it failed on."""

    name = "failing"

    async def apply(self, entries: list[Any], *, ctx: Any) -> StageResult:
        """Fail."""
        raise ValueError(f"{STAGE_ERROR} in {entries[0]!r}")


@tool(description=DESCRIPTION)
def read(page: int, why: str) -> str:
    """Read a page."""
    if page == 2:
        raise RuntimeError(f"{TOOL_ERROR}: no page {page} for {why}")
    lines = 80 if page % 3 == 0 else 40  # every third one is too large to stay
    return f"{RESULT} {page}: " + "a line of text that says something new. " * lines


async def _at_once(seconds: float) -> None:
    """Wait for nothing."""


def agent(folder: Path, pages: int = 10, hooks: AgentHooks | None = None) -> Agent[Any]:
    """Return an agent that reads on until its window has overflown several times."""
    script: list[Any] = [
        broken(text(ANSWER), ProviderError(f"{SERVER_ERROR}: bad {USER}", retryable=True)),
        batch(("read", {"page": 1, "why": ARGUMENTS}), (UNKNOWN_TOOL, {"why": ARGUMENTS})),
        *(
            AssistantTurn(
                content=f"{ANSWER} {page}",
                reasoning=f"{THOUGHT} {page}",
                tool_calls=call("read", {"page": page, "why": ARGUMENTS}).tool_calls,
            )
            for page in range(2, pages)
        ),
        call("transfer_to_second", {"reason": HANDOFF}),
        broken(text(ANSWER), ValueError(f"{SERVER_ERROR}: it is over")),
    ]
    provider = ScriptedProvider(
        script,
        window=3_000,
        usage="counted",
        summarize=f"## Goal\n{SUMMARY}\n\n## State\nRead some.\n\n## Planned\nRead on.",
    )
    archive = FileCompactionArchive(folder / FOLDER / "archive")
    policy = CompactingContextPolicy(
        target_ratio=0.4,
        archive=archive,
        stages=[
            ToolResultBudgetStage(large_chars=2_000, preview_chars=200, archive=archive),
            FailingStage(),
            AutoSummaryStage(LLMSummarizer(), keep_recent=4),
        ],
    )
    second = Agent("second", model=provider, instructions=INSTRUCTIONS, context_policy=policy)
    return Agent(
        "reader",
        model=provider,
        tools=[read],
        instructions=INSTRUCTIONS,
        context_policy=policy,
        handoffs=[second],
        hooks=hooks,
        retry=RetryPolicy(sleep=_at_once),
    )


async def run(folder: Path, hooks: AgentHooks | None = None) -> None:
    """Run it to its end, which is an error."""
    (folder / FOLDER).mkdir(exist_ok=True)
    checkpointer = SQLiteCheckpointer(folder / FOLDER / "checkpoints.db")
    with suppress(ValueError):
        await Runner.run(
            agent(folder, hooks=hooks),
            f"Read all pages. {USER}",
            session=SQLiteSession(folder / FOLDER / "sessions.db"),
            session_id="s1",
            checkpoint=CheckpointOptions(checkpointer, run_id="r1"),
        )
