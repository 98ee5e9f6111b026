"""LangChain's SummarizationMiddleware; runs in an environment of its own."""

from __future__ import annotations

import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio

sys.path.append(str(Path(__file__).resolve().parent.parent))
sys.path.pop(0)  # this folder, whose files are named after the packages that they measure

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from workload import SIZES, SUMMARY, TURNS, WINDOW, median_ms, messages, report, timed


async def _instant(_history: Any) -> str:
    return SUMMARY


def _by_bytes(history: Any) -> int:
    return sum(len(message.content.encode()) // 4 for message in history)


def _history(count: int) -> list[Any]:
    return [
        HumanMessage(text, id=str(number)) if role == "user" else AIMessage(text, id=str(number))
        for number, (role, text) in enumerate(messages(count))
    ]


def _middleware(trigger: int) -> SummarizationMiddleware:
    return SummarizationMiddleware(
        FakeListChatModel(responses=[SUMMARY]),
        trigger=("tokens", trigger),
        keep=("messages", 20),
        token_counter=_by_bytes,
        trim_tokens_to_summarize=None,
        summarizer=_instant,
    )


async def main() -> None:
    """Measure all sizes and print the result."""
    rows = {}
    for size in SIZES:
        history, idle = _history(size), _middleware(10**12)
        turns = []
        for number in range(TURNS):
            history.append(HumanMessage(f"turn {number}", id=f"t{number}"))
            state: Any = {"messages": history}
            turns.append(await timed(partial(idle.abefore_model, state, None)))
        fresh: Any = {"messages": _history(size)}
        busy = _middleware(int(WINDOW * 0.8))
        rows[size] = {
            "turn_ms": median_ms(turns),
            "first_pass_s": await timed(partial(busy.abefore_model, fresh, None)),
        }
    report("LangChain", version("langchain"), rows)


anyio.run(main)
