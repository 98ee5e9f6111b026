"""The @tool decorator."""

from __future__ import annotations

import threading
from functools import partial, wraps
from typing import Any

import anyio
import pytest

from lovia import RunContext, Tool, UserError, tool
from lovia.errors import InvalidToolArguments
from lovia.tools import parse_arguments

pytestmark = pytest.mark.anyio
NO_CONTEXT: Any = None


async def call(made: Tool, **args: Any) -> Any:
    """Run a tool once."""
    return await made.attempt(args, NO_CONTEXT)


def greet(name: str, *, loud: bool = False) -> str:
    """Greet somebody.

    :param name: Who.
    """
    return f"HELLO {name}" if loud else f"hello {name}"


@pytest.mark.parametrize("made", [tool(greet), tool()(greet)])
async def test_a_function_becomes_a_tool(made: Tool) -> None:
    """Bare or called, the decorator takes name, description and schema from the function."""
    assert (made.name, made.description) == ("greet", "Greet somebody.")
    assert made.openai_schema()["function"]["parameters"]["required"] == ["name"]
    assert await call(made, name="Ada", loud=True) == "HELLO Ada"


def test_options_win_over_the_function() -> None:
    """Name, description and policy settings can be given; strict goes into the schema."""
    made = tool(greet, name="hi", description="", timeout=3, parallel=False, strict=True)
    assert (made.name, made.description, made.timeout, made.parallel) == ("hi", "", 3, False)
    schema = made.openai_schema()["function"]
    assert schema["strict"] is True
    assert schema["parameters"]["required"] == ["name", "loud"]


async def test_sync_functions_leave_the_loop_free() -> None:
    """A function that is not async runs in another thread, an async one in the loop's."""

    @tool
    def sync() -> int:
        """S."""
        return threading.get_ident()

    @tool
    async def native() -> int:
        """N."""
        return threading.get_ident()

    assert await call(sync) != threading.get_ident()
    assert await call(native) == threading.get_ident()


class Greeter:
    """Greets."""

    def __init__(self, word: str) -> None:
        self.word = word

    def greet(self, name: str) -> str:
        """Greet."""
        return f"{self.word} {name}"

    async def __call__(self, name: str) -> str:
        """Greet by calling."""
        return f"{self.word} {name}"


def decorated(function: Any) -> Any:
    """Wrap a function."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (Greeter("hello").greet, "greet"),
        (Greeter("hello"), "Greeter"),
        (partial(greet, loud=False), "greet"),
        (decorated(greet), "greet"),
    ],
)
async def test_every_callable_can_be_a_tool(function: Any, name: str) -> None:
    """Methods, callable objects, partials and decorated functions work like functions."""
    made = tool(function)
    assert made.name == name
    assert await call(made, name="Ada") == "hello Ada"


async def test_the_context_comes_first() -> None:
    """A function that asks for the run's context gets it, whatever the parameter is called."""

    @tool
    def look(it: RunContext[Any], a: int) -> tuple[Any, int]:
        """Look."""
        return it, a

    assert await look.attempt({"a": 1}, NO_CONTEXT) == (None, 1)


async def test_policies_go_around_the_call() -> None:
    """The first policy is the outermost; each may change arguments and result."""

    async def shout(invoke: Any, args: dict[str, Any], ctx: Any) -> Any:
        return (await invoke(args, ctx)) + "!"

    async def rename(invoke: Any, args: dict[str, Any], ctx: Any) -> Any:
        return (await invoke({**args, "name": "Bob"}, ctx)) + "?"

    made = tool(policies=[shout, rename])(greet)
    assert await call(made, name="Ada") == "hello Bob?!"


async def test_a_thread_does_not_hold_up_a_cancellation() -> None:
    """A cancelled call returns at once, though its thread goes on."""
    release = threading.Event()

    @tool
    def stuck() -> None:
        """Wait."""
        release.wait(10)

    with anyio.move_on_after(0.05) as scope:
        await call(stuck)
    release.set()
    assert scope.cancelled_caught


@pytest.mark.parametrize("thing", [7, "name"])
def test_only_functions_are_decorated(thing: Any) -> None:
    """A value that cannot be called is refused."""
    with pytest.raises(UserError, match="decorates a function"):
        tool(thing)


@pytest.mark.parametrize("text", ["", "  ", "{}"])
def test_no_arguments(text: str) -> None:
    """Blank text is an empty object, which models write for tools without parameters."""
    assert parse_arguments(text, tool="t") == {}


@pytest.mark.parametrize("text", ["{", "[]", "7", '"a"', "null", "[" * 100_000, "9" * 5_000])
def test_arguments_are_a_json_object(text: str) -> None:
    """Anything that is no JSON object is refused with a short message that names the tool."""
    with pytest.raises(InvalidToolArguments, match="tool 't'") as caught:
        parse_arguments(text, tool="t")
    assert len(str(caught.value)) < 500
