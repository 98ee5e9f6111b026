"""One session in LangChain whose tool results are cleared, and whose talk is summarised."""

from __future__ import annotations

import sys

from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    SummarizationMiddleware,
)
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from lovia_otel import configure, observe
from tests.upstream.langchain.scripted import ScriptedModel, talk, tool_turns

with configure(file=sys.argv[1], service_name="langchain-app"):
    summarizer = ScriptedModel(script=["The user looked things up and talked at length."])
    agent = create_agent(
        ScriptedModel(script=["fine", "fine"]),
        middleware=[
            observe(
                SummarizationMiddleware(summarizer, trigger=("tokens", 1500), keep=("messages", 4))
            ),
            observe(
                ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=600, keep=1)]),
                window_tokens=8_000,
            ),
        ],
        checkpointer=InMemorySaver(),
        name="helper",
    )
    thread = {"configurable": {"thread_id": "thread-1"}}
    agent.invoke({"messages": tool_turns(4, 200)}, thread)
    agent.invoke({"messages": [*talk(20), HumanMessage("and now?")]}, thread)
