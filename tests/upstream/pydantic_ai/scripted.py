"""A model that answers from a script, and histories for it."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

VERSION = tuple(int(part) for part in version("pydantic-ai-slim").split(".")[:2])
USAGE = RequestUsage(input_tokens=50, output_tokens=7)
WORDS = "lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam"


class Script:
    """Gives its answers in turn (an exception is raised), and keeps the requests that it got."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[list[str]] = []

    def model(self) -> FunctionModel:
        """Return a model that answers from this script."""
        return FunctionModel(self._answer, model_name="acme-1")

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append(texts(messages))
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        parts = [TextPart(answer)] if isinstance(answer, str) else [answer]
        return ModelResponse(parts=parts, usage=USAGE, model_name="acme-1-mini")


def texts(messages: list[ModelMessage]) -> list[str]:
    """Return the texts of messages, one a part."""
    return [
        str(getattr(part, "content", part.part_kind))
        for message in messages
        for part in message.parts
    ]


def talk(turns: int) -> list[ModelMessage]:
    """Return a conversation of so many questions and answers of ten words each."""
    return [
        message
        for turn in range(turns)
        for message in (
            ModelRequest(parts=[UserPromptPart(f"{turn} {WORDS}")]),
            ModelResponse(parts=[TextPart(f"{turn} {WORDS}")], model_name="acme-1"),
        )
    ]


def tool_turns(count: int, size: int) -> list[ModelMessage]:
    """Return a conversation of so many tool calls, whose results have so many words."""
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("look")])]
    for turn in range(count):
        call, result = f"c{turn}", "word " * size
        messages += [
            ModelResponse(parts=[ToolCallPart("look", {}, call)]),
            ModelRequest(parts=[ToolReturnPart("look", result, call)]),
        ]
    messages.append(ModelResponse(parts=[TextPart("seen")]))
    return messages
