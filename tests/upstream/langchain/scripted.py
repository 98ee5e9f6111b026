"""A model that answers from a script, and histories for it."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

# The agent's name as middleware can know it: LangChain 1.0 tells nobody.
AGENT = None if version("langchain").startswith("1.0.") else "helper"
USAGE = {"input_tokens": 50, "output_tokens": 7, "total_tokens": 57}


class ScriptedModel(BaseChatModel):
    """Gives the answers of its script in turn (an exception is raised), and keeps what it got."""

    script: list[Any]
    requests: list[list[AnyMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _get_ls_params(self, stop: Any = None, **kwargs: Any) -> Any:
        return {"ls_provider": "acme", "ls_model_name": "acme-1", "ls_model_type": "chat"}

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Take any tools; the script knows them."""
        return self

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.requests.append(list(messages))
        answer = self.script.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        message = answer if isinstance(answer, AIMessage) else said(answer)
        return ChatResult(generations=[ChatGeneration(message=message)])


def said(text: str, **fields: Any) -> AIMessage:
    """Return what the model says, with its bill."""
    return AIMessage(
        text, usage_metadata=dict(USAGE), response_metadata={"model_name": "acme-1-mini"}, **fields
    )


def talk(turns: int) -> list[AnyMessage]:
    """Return a conversation of so many questions and answers of ten words each."""
    words = "lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam"
    return [
        message
        for turn in range(turns)
        for message in (HumanMessage(f"{turn} {words}"), AIMessage(f"{turn} {words}"))
    ]


def tool_turns(count: int, size: int) -> list[AnyMessage]:
    """Return a conversation of so many tool calls, whose results have so many words."""
    messages: list[AnyMessage] = [HumanMessage("look")]
    for turn in range(count):
        call = {"name": "look", "args": {}, "id": f"c{turn}"}
        messages += [
            AIMessage("", tool_calls=[call]),
            ToolMessage("word " * size, tool_call_id=f"c{turn}", name="look"),
        ]
    return messages


def words_of(messages: Any) -> int:
    """Count the words of messages: a counter that is no approximation."""
    return sum(len(str(message.content).split()) for message in messages)
