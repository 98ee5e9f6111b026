"""The OpenAI client with a script in place of the network."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents import Agent, OpenAIResponsesModel
from openai import AsyncOpenAI

try:
    import httpx2 as httpx  # what the client uses from its version 3 on
except ModuleNotFoundError:
    import httpx

USAGE = {
    "input_tokens": 50,
    "output_tokens": 7,
    "total_tokens": 57,
    "input_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}
WORDS = "lorem ipsum dolor sit amet consetetur sadipscing elitr sed diam"


class Script:
    """Answers requests in turn: texts as messages, ``compactions`` those to compact.

    A number is an HTTP status; ``None`` never answers. ``sent`` keeps the inputs of requests.
    """

    def __init__(self, *answers: Any, compactions: Any = ()) -> None:
        self.answers = list(answers)
        self.compactions = list(compactions)
        self.sent: list[Any] = []

    def client(self) -> AsyncOpenAI:
        """Return a client that this script answers."""
        transport = httpx.MockTransport(self._answer)
        http = httpx.AsyncClient(transport=transport)
        return AsyncOpenAI(
            api_key="none", base_url="http://openai.invalid/v1", http_client=http, max_retries=0
        )

    def agent(self, **options: Any) -> Agent[None]:
        """Return an agent whose model is answered by this script."""
        model = OpenAIResponsesModel(model="gpt-5", openai_client=self.client())
        return Agent(name="helper", model=model, **options)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        compact = request.url.path.endswith("/compact")
        if not compact:
            self.sent.append(body["input"])
        answer = (self.compactions if compact else self.answers).pop(0)
        if answer is None:
            await asyncio.sleep(60)
        if isinstance(answer, int):
            return httpx.Response(answer, json={"error": {"message": "scripted"}})
        return httpx.Response(200, json=_compacted(answer) if compact else _response(answer))


def _response(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5-mini",
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [{**message, "content": content}],
        "usage": USAGE,
    }


def _compacted(opaque: str) -> dict[str, Any]:
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": opaque}
    kept = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "last"}]}
    return {
        "id": "resp_2",
        "object": "response.compaction",
        "created_at": 1,
        "output": [kept, item],
        "usage": USAGE,
    }


def talk(turns: int) -> list[Any]:
    """Return the items of so many questions and answers of ten words each."""
    return [
        {"role": role, "content": f"{turn} {WORDS}"}
        for turn in range(turns)
        for role in ("user", "assistant")
    ]
