"""Function parameters as a JSON object, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from lovia import InvalidToolArguments, RunContext, UserError
from lovia.tools.schema import FunctionArguments, strict_schema

if TYPE_CHECKING:
    from decimal import Decimal


class Place(BaseModel):
    """A place."""

    title: str
    default: int = 1


@dataclass
class Pair:
    """Two numbers."""

    left: int
    right: int = 0


def search(
    query: Annotated[str, "Search terms"],
    limit: Annotated[int, Field(ge=1, le=10)] = 5,
    kind: Literal["a", "b"] = "a",
    place: Place | None = None,
    pair: Pair | None = None,
    *,
    schema: list[str] = Field(default=[], description="Odd name"),  # noqa: B008 - how pydantic is written
) -> dict[str, Any]:
    """Search.

    :param query: not this one
    :param kind: Which kind.
    """
    return dict(locals())


def arguments(function: Any, **options: Any) -> FunctionArguments:
    """Read a function's signature."""
    return FunctionArguments.of(function, tool="t", **options)


def test_the_schema_describes_every_parameter() -> None:
    """Types, bounds, defaults and descriptions of all parameters are in the schema, titles not."""
    schema = arguments(search).schema
    assert schema["required"] == ["query"]
    assert schema["properties"]["query"] == {"type": "string", "description": "Search terms"}
    assert schema["properties"]["limit"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 10,
        "default": 5,
    }
    assert schema["properties"]["kind"]["description"] == "Which kind."
    assert schema["properties"]["schema"]["description"] == "Odd name"
    assert set(schema["$defs"]["Place"]["properties"]) == {"title", "default"}
    assert "title" not in schema
    assert "title" not in schema["$defs"]["Place"]


def test_bind_gives_python_values() -> None:
    """JSON becomes what the annotations say, defaults included."""
    positional, named = arguments(search).bind(
        {"query": "q", "limit": "3", "place": {"title": "x"}, "pair": {"left": 1}, "schema": ["s"]}
    )
    assert positional == []
    assert named == {
        "query": "q",
        "limit": 3,
        "kind": "a",
        "place": Place(title="x"),
        "pair": Pair(1),
        "schema": ["s"],
    }


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({}, "query: Field required"),
        ({"query": "q", "limit": 11}, "limit: "),
        ({"query": "q", "other": 1}, "other: "),
        ({"query": "q", "place": {"title": 7}}, r"place\.title: "),
    ],
)
def test_what_does_not_fit_is_named(args: dict[str, Any], named: str) -> None:
    """The error says which argument of which tool is wrong, also inside objects."""
    with pytest.raises(InvalidToolArguments, match=named) as caught:
        arguments(search).bind(args)
    assert caught.value.tool == "t"


def test_a_long_list_of_problems_is_cut() -> None:
    """Dozens of problems become a short message that says how many there are."""

    def many(values: list[int]) -> None: ...

    with pytest.raises(InvalidToolArguments, match="and 92 more"):
        arguments(many).bind({"values": ["x"] * 100})


def test_the_run_context_is_no_parameter() -> None:
    """A first parameter annotated with the run context is not shown to the model."""

    def with_context(anything: RunContext[str], a: int) -> None: ...
    def bare(ctx: RunContext, a: int) -> None: ...
    def quoted(ctx: "lovia.RunContext[Unknown]", a: int) -> None: ...  # type: ignore[name-defined] # noqa: F821, UP037

    for function in (with_context, bare, quoted):
        found = arguments(function)
        assert found.takes_context
        assert list(found.schema["properties"]) == ["a"]
    assert not arguments(search).takes_context


def test_names_of_the_defining_function_are_known() -> None:
    """Types that are local to where the tool is defined can be used in its annotations."""

    class Local(BaseModel):
        x: int

    def function(value: Local) -> None: ...

    found = arguments(function, local_names=dict(locals()))
    assert found.bind({"value": {"x": 1}})[1] == {"value": Local(x=1)}


def _starred(*values: int) -> None: ...
def _unknown(value: Decimal) -> None: ...
def _opaque(value: UserError) -> None: ...


@pytest.mark.parametrize(
    ("function", "named"),
    [(_starred, r"\*values"), (_unknown, "'value'"), (_opaque, "JSON schema")],
)
def test_parameters_that_cannot_be_described_are_refused(function: Any, named: str) -> None:
    """Star arguments, names that do not resolve, types without a schema: the error names them."""
    with pytest.raises(UserError, match=named):
        arguments(function)


def test_positional_and_further_arguments_are_passed_as_such() -> None:
    """Positional-only parameters come by position; `**more` takes what no parameter takes."""

    def function(a: int, /, b: int, **more: Any) -> None: ...

    assert arguments(function).bind({"a": 1, "b": 2, "c": 3}) == ([1], {"b": 2, "c": 3})


def test_strict_requires_everything_at_every_depth() -> None:
    """A strict schema requires each property, forbids others and has no defaults, also inside."""
    schema = strict_schema(arguments(search).schema)
    for node in (schema, schema["$defs"]["Place"], schema["$defs"]["Pair"]):
        assert node["required"] == list(node["properties"])
        assert node["additionalProperties"] is False
    assert "default" not in schema["properties"]["limit"]
    assert "default" in schema["$defs"]["Place"]["properties"]
