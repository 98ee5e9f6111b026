"""What becomes of a returned value: renderers, caps, policies and rich content."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from lovia import Agent, ImagePart, RunContext, Runner, TextPart, events, tool
from lovia.testing import ScriptedProvider, call, text
from lovia.transcript import ToolResultEntry

if TYPE_CHECKING:
    from lovia.tools import ToolInvoker


def shout(result: Any, ctx: RunContext[Any]) -> str:
    """Render a value for the model."""
    return f"{result}!".upper()


async def brackets(result: Any, ctx: RunContext[Any]) -> str:
    """Render values of tools that have no renderer."""
    return f"<{result}>"


async def redact(invoke: ToolInvoker, args: dict[str, Any], ctx: RunContext[Any]) -> Any:
    """Change the arguments on the way in and the value on the way out."""
    value = await invoke({**args, "word": args["word"].title()}, ctx)
    return str(value).replace("secret", "***")


@tool(result_renderer=shout)
def greet() -> str:
    """Greet."""
    return "ahoy"


@tool
def count() -> int:
    """Count."""
    return 3


@tool(policies=[redact], result_renderer=lambda value, ctx: str(value))
def echo(word: str) -> str:
    """Echo a word."""
    return f"{word} secret"


@tool(max_output_chars=200, result_renderer=lambda value, ctx: str(value))
def dump() -> str:
    """Return far too much."""
    return "x" * 5_000 + "the end"


@tool
def snapshot() -> list[str | ImagePart]:
    """Return text and an image."""
    return ["The harbour:", ImagePart(url="https://example.test/harbour.png")]


async def main() -> None:
    """Print what the transcript keeps of each result."""
    names = ["greet", "count", "echo", "dump"]
    script = [*[call(n, {"word": "mast"} if n == "echo" else {}) for n in names], text("Done.")]
    tools = [greet, count, echo, dump]
    agent = Agent(
        name="a", model=ScriptedProvider(script), tools=tools, tool_result_renderer=brackets
    )
    async for event in Runner.stream(agent, "go"):
        if isinstance(event, events.ToolCallCompleted) and event.call.name == "dump":
            print(len(event.output) < 300, event.output[:3], event.output[-7:])
        elif isinstance(event, events.ToolCallCompleted):
            print(event.call.name, repr(event.output))

    rich = Agent(
        name="b",
        model=ScriptedProvider([call("snapshot", {}), text("A harbour.")]),
        tools=[snapshot],
    )
    result = await Runner.run(rich, "Show me.")
    for entry in result.entries:
        if isinstance(entry, ToolResultEntry):
            for part in entry.parts or ():
                print(part.type, part.text if isinstance(part, TextPart) else part.url)


asyncio.run(main())
