"""What middleware does around a model call is passes; the call is none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from lovia_otel import names
from lovia_otel.foreign.handover import Handover
from lovia_otel.foreign.passes import ObservedPass, PassAbout, current_pass
from lovia_otel.foreign.sizes import size_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.otel.conftest import Telemetry

GIVEN = ["a", "b", "c", "d"]


class TooLongError(Exception):
    """What the model raises when it gets more than it takes."""


class Model:
    """Takes so many messages."""

    def __init__(self, takes: int) -> None:
        self.takes = takes

    def __call__(self, request: Any) -> str:
        """Answer, or reject what is too long."""
        assert current_pass() is None
        if len(request.messages) > self.takes:
            raise TooLongError
        return "".join(request.messages)


def handover() -> Handover:
    """Return the passes of a request with all messages."""

    def begin(view: Sequence[Any] | None, trigger: str) -> ObservedPass:
        about = PassAbout(policy="middleware", trigger=trigger)
        return ObservedPass(
            GIVEN if view is None else view, about=about, measure=size_by(len), lazy=True
        )

    return Handover(begin, lambda observed: None)


def request(messages: Sequence[str]) -> Any:
    """Return a request with these messages."""
    return SimpleNamespace(messages=messages)


def passes(telemetry: Telemetry) -> list[tuple[Any, Any]]:
    """Return trigger and outcome of each finished pass."""
    found = [dict(span.attributes or {}) for span in telemetry.exported.get_finished_spans()]
    return [(a[names.COMPACTION_TRIGGER], a[names.COMPACTION_OUTCOME]) for a in found]


def test_a_view_that_is_handed_over_ends_the_pass(telemetry: Telemetry) -> None:
    """The call's result comes back, and the pass was over before it."""
    with handover() as passing:
        answer = passing.call(Model(9))(request(GIVEN[2:]))
    assert answer == "cd"
    assert passes(telemetry) == [(names.TRIGGER_THRESHOLD, names.COMPACTED)]


def test_a_rejection_that_is_answered_is_a_second_pass(telemetry: Telemetry) -> None:
    """What happens between two calls is told of with the overflow as its trigger."""
    with handover() as passing:
        call = passing.call(Model(2))
        with pytest.raises(TooLongError):
            call(request(GIVEN[1:]))
        assert call(request(GIVEN[2:])) == "cd"
    assert passes(telemetry) == [
        (names.TRIGGER_THRESHOLD, names.COMPACTED),
        (names.TRIGGER_OVERFLOW, names.COMPACTED),
    ]


def test_a_rejection_that_is_let_through_is_no_pass(telemetry: Telemetry) -> None:
    """The model's own exception is not a failure of the middleware."""
    with pytest.raises(TooLongError), handover() as passing:
        passing.call(Model(2))(request(GIVEN))
    assert passes(telemetry) == []


def test_an_exception_before_the_call_fails_the_pass(telemetry: Telemetry) -> None:
    """What the middleware raises itself is."""
    with pytest.raises(ZeroDivisionError), handover():
        raise ZeroDivisionError
    assert passes(telemetry) == [(names.TRIGGER_THRESHOLD, names.FAILED)]


def test_a_request_of_no_known_kind_is_handed_over_all_the_same(telemetry: Telemetry) -> None:
    """Telemetry that finds no messages costs its own numbers."""
    with handover() as passing:
        assert passing.call(lambda asked: asked)("a request") == "a request"
    assert telemetry.total(names.METRIC_DROPPED_EVENTS) > 0


@pytest.mark.anyio
async def test_async_calls_are_handed_over_alike(telemetry: Telemetry) -> None:
    """Awaiting the handler makes no difference."""

    async def model(asked: Any) -> str:
        return Model(2)(asked)

    with handover() as passing:
        call = passing.acall(model)
        with pytest.raises(TooLongError):
            await call(request(GIVEN))
        assert await call(request(GIVEN[2:])) == "cd"
    assert passes(telemetry) == [(names.TRIGGER_OVERFLOW, names.COMPACTED)]
