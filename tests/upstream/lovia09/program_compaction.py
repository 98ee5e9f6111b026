"""The default policy, set up by its former settings, in a conversation that outgrows its window."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

from lovia import Agent, Compaction, InMemorySession, Runner, events
from lovia.testing import ScriptedProvider, text

warnings.simplefilter("ignore", DeprecationWarning)


class Counting:
    """Writes summaries that only count."""

    def __init__(self) -> None:
        self.calls = 0
        self.folded = False

    async def summarize(
        self, entries: list[Any], *, req: Any, prior_summary: str | None = None
    ) -> str:
        """Summarise, in place of a model."""
        self.calls += 1
        self.folded |= prior_summary is not None
        return f"Summary number {self.calls}: " + "they talked. " * 10


async def main() -> None:
    """Talk on until several passes were made."""
    summarizer = Counting()
    policy = Compaction(
        context_window=20_000,
        compact_at=6_000,
        compact_to=3_000,
        reserve_output_tokens=2_000,
        summarizer=summarizer,
    )
    provider = ScriptedProvider([text(f"Answer {n}. " + "It rained. " * 200) for n in range(60)])
    agent = Agent(name="a", instructions="Talk.", model=provider, context_policy=policy)
    session, passes = InMemorySession(), 0
    for number in range(60):
        question = f"Question {number}?"
        async for event in Runner.stream(agent, question, session=session, session_id="s"):
            if isinstance(event, events.ContextCompacted):
                passes += 1
                assert len(event.entries_after) < len(event.entries_before)
                assert event.notice.tokens_before is not None
                assert event.notice.tokens_after is not None
                assert event.notice.tokens_after < event.notice.tokens_before
                assert not event.notice.reactive
            elif isinstance(event, events.RunCompleted):
                assert event.result.output.startswith(f"Answer {number}.")
    sizes = [sum(len(message.text) for message in sent) for sent in provider.calls]
    print("passes:", passes > 1, "summaries:", summarizer.calls > 1, "folded:", summarizer.folded)
    print("requests stay small:", max(sizes) < 40_000 < sum(sizes) / 10)
    print("the prompt comes first:", {sent[0].content for sent in provider.calls})
    print("the question comes last:", all("Question" in sent[-1].text for sent in provider.calls))
    print("the summary is sent:", "Summary number" in "".join(m.text for m in provider.calls[-1]))
    print("the conversation is whole:", len(await session.load("s")))


asyncio.run(main())
