"""Microsoft's agent-framework compaction; runs in an environment of its own."""

from __future__ import annotations

import asyncio
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent))
sys.path.pop(0)  # this folder, whose files are named after the packages that they measure

from agent_framework import (
    CharacterEstimatorTokenizer,
    ChatResponse,
    Message,
    SummarizationStrategy,
    TokenBudgetComposedStrategy,
    apply_compaction,
)
from workload import SIZES, SUMMARY, TURNS, WINDOW, median_ms, messages, report, timed


class _Instant:
    async def get_response(self, *args: Any, **kwargs: Any) -> ChatResponse:
        return ChatResponse(messages=[Message("assistant", [SUMMARY])])


def _history(count: int) -> list[Message]:
    return [Message(role, [text]) for role, text in messages(count)]


def _strategy(budget: int) -> TokenBudgetComposedStrategy:
    summarize = SummarizationStrategy(
        client=_Instant(), target_count=20, max_summary_input_tokens=None
    )
    return TokenBudgetComposedStrategy(
        token_budget=budget, tokenizer=CharacterEstimatorTokenizer(), strategies=[summarize]
    )


async def main() -> None:
    """Measure all sizes and print the result."""
    tokenizer, rows = CharacterEstimatorTokenizer(), {}
    for size in SIZES:
        history, idle = _history(size), _strategy(10**12)
        await apply_compaction(history, strategy=idle, tokenizer=tokenizer)
        turns = []
        for number in range(TURNS):
            history.append(Message("user", [f"turn {number}"]))
            turns.append(
                await timed(
                    lambda: apply_compaction(history, strategy=idle, tokenizer=tokenizer)  # noqa: B023
                )
            )
        fresh, busy = _history(size), _strategy(int(WINDOW * 0.6))
        rows[size] = {
            "turn_ms": median_ms(turns),
            "first_pass_s": await timed(
                lambda: apply_compaction(fresh, strategy=busy, tokenizer=tokenizer)  # noqa: B023
            ),
        }
    report("agent-framework", version("agent-framework-core"), rows)


asyncio.run(main())
