"""What a model is told of a tool's parameters."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from lovia import RunContext, tool


@tool
def search(
    ctx: RunContext[Any],
    query: Annotated[str, "Search terms"],
    limit: Annotated[int, Field(ge=1, le=10, description="How many")] = 5,
    order: Literal["newest", "best"] = "best",
    tags: list[str] | None = None,
) -> list[str]:
    """Search the catalogue."""
    return [query] * limit


@tool(strict=True)
def book(room: Annotated[str, "Its number"], nights: int = 1) -> str:
    """Book a room."""
    return room * nights


def main() -> None:
    """Print the schemas, key by key."""
    properties = search.parameters["properties"]
    print(list(properties))
    for name, schema in properties.items():
        print(name, json.dumps(schema, sort_keys=True))
    print("required:", search.parameters["required"])

    print("strict:", book.parameters["required"], book.parameters["additionalProperties"])
    print(book.parameters["properties"]["room"])

    whole = search.openai_schema()
    print(whole["type"], whole["function"]["name"], whole["function"]["description"])
    print(whole["function"]["parameters"] == search.parameters)


main()
