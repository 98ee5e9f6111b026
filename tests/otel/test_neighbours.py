"""Other instrumentations of a model call stay out of ours; the real ones are in tests/upstream."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

import pytest
import wrapt
from opentelemetry import context as otel_context

from lovia_otel import chat_scope, neighbours

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry


class Client:
    """A client whose method somebody wraps."""

    def create(self) -> str:
        """Answer."""
        return "answer"


def wrapped(method: Any, module: str) -> Any:
    """Return a method as an instrumentation in this module wraps it."""

    def wrapper(inner: Any, instance: Any, args: Any, kwargs: Any) -> str:
        return f"{module}({inner(*args, **kwargs)})"

    wrapper.__module__ = module
    return wrapt.FunctionWrapper(method, wrapper)


OPENTELEMETRY = "opentelemetry.instrumentation.openai.v1"


@pytest.mark.parametrize(
    ("modules", "answer"),
    [
        ((), "answer"),
        ((OPENTELEMETRY,), "answer"),
        ((OPENTELEMETRY, "opentelemetry.instrumentation.genai.openai.patch"), "answer"),
        (("somebody.else",), "somebody.else(answer)"),
        ((OPENTELEMETRY, "somebody.else"), f"somebody.else({OPENTELEMETRY}(answer))"),
    ],
)
def test_what_instrumentations_wrap_is_called_instead(
    modules: tuple[str, ...], answer: str, telemetry: Telemetry
) -> None:
    """OpenTelemetry's wrappers come off down to the first of somebody else's, which stays."""
    method: Any = Client().create
    for module in modules:
        method = wrapped(method, module)
    assert neighbours.unobserved(method)() == answer


@pytest.mark.usefixtures("no_sdk")
def test_without_an_sdk_of_ours_theirs_stay() -> None:
    """Where nothing is recorded here, a client's method is called as it is."""
    method = wrapped(Client().create, OPENTELEMETRY)
    assert neighbours.unobserved(method) is method


def test_nobody_is_told_where_nobody_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without other instrumentations, a context stays as it is."""
    for name in (neighbours._GENAI, neighbours._OPENLLMETRY, neighbours._OPENINFERENCE):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert neighbours.claimed(None) is None


def test_only_the_model_call_counts_as_recorded(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark is there inside a `chat` scope, and gone for what is told in the middle of it."""
    monkeypatch.setitem(sys.modules, neighbours._OPENLLMETRY, types.ModuleType("theirs"))

    def silenced() -> object:
        return otel_context.get_value(neighbours._OPENLLMETRY_KEY)

    with chat_scope(provider="p", model="m", purpose="turn", agent=None) as scope:
        assert silenced()
        with scope.outside():
            assert not silenced()
        assert silenced()
    assert not silenced()
