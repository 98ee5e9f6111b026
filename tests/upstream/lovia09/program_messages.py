"""Messages as input: short ways to write them, several in a run, with images and files."""

from __future__ import annotations

import asyncio
import base64
import tempfile
from pathlib import Path
from typing import Any

from lovia import Agent, FilePart, ImagePart, Runner, TextPart, assistant, system, tool, user
from lovia.testing import ScriptedProvider, call, text


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


async def main() -> None:
    """Print what helpers make, what a model is sent, and a result as messages."""
    for message in (
        user("hi"),
        assistant("hello"),
        system("Be brief."),
        user(TextPart("one part")),
    ):
        print(message.role, message.text, len(message.tool_calls))

    provider = ScriptedProvider(
        [text("I remember."), text("A harbour."), call("add", {"a": 1, "b": 2})]
    )
    agent = Agent(name="a", instructions="Prompt.", model=provider, tools=[add])
    history = [
        system("Context."),
        user("My name is Ada."),
        assistant("Hello Ada."),
        user("Who am I?"),
    ]
    result = await Runner.run(agent, history)
    print([(m.role, m.content) for m in provider.calls[0]])
    print([(m.role, m.text) for m in result.messages])

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dot.png"
        path.write_bytes(base64.b64decode("iVBORw0KGgo="))
        parts: list[Any] = [
            TextPart("What is this?"),
            ImagePart(url="https://example.test/a.png", detail="low"),
            ImagePart.from_path(path),
            FilePart.from_bytes(b"%PDF-", mime_type="application/pdf", filename="a.pdf"),
            FilePart.from_url("https://example.test/b.pdf"),
        ]
    result = await Runner.run(agent, [user(parts)])
    sent: Any = provider.calls[1][-1].content
    print(result.output, [part.type for part in sent])
    print(sent[2].mime_type, sent[2].data, sent[3].filename, sent[3].mime_type, sent[4].url)

    # The messages of one run, and a question more, are the input of the next.
    provider = ScriptedProvider([call("add", {"a": 1, "b": 2}, call_id="c1"), text("3"), text("4")])
    agent = Agent(name="b", model=provider, tools=[add])
    first = await Runner.run(agent, "1+2?")
    asked, answered = first.messages[1], first.messages[2]
    print(
        asked.role, [(c.id, c.name) for c in asked.tool_calls], answered.role, answered.tool_call_id
    )
    await Runner.run(agent, [*first.messages, user("And 1 more?")])
    print([(m.role, m.content) for m in provider.calls[-1]])


asyncio.run(main())
