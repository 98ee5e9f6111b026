"""What ended an operation: an error, a cancellation, or neither."""

from __future__ import annotations

import asyncio

import pytest
import trio

from lovia_otel import names
from lovia_otel.failure import cancellations_explained, failure_of, is_cancellation


class Cancelled(Exception):  # stands for the runtime's own exception
    """An exception with a reason."""

    cancellation_reason = "user"
    cancellation_checkpoint = "turn"


def trios_own() -> BaseException:
    """Return the exception that trio raises in a cancelled scope."""
    caught: list[BaseException] = []

    async def cancelled() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            try:
                await trio.sleep_forever()
            except trio.Cancelled as error:
                caught.append(error)
                raise

    trio.run(cancelled)
    return caught[0]


@pytest.mark.parametrize("nothing", [None, GeneratorExit()])
def test_some_ends_are_no_failure(nothing: BaseException | None) -> None:
    """No exception, and a generator that is closed, are no failure."""
    assert failure_of(nothing) is None


@pytest.mark.parametrize(
    ("error", "cancelled"),
    [
        (ValueError(), False),
        (KeyboardInterrupt(), False),
        (SystemExit(), False),
        (asyncio.CancelledError(), True),
        (Cancelled(), True),
        (BaseExceptionGroup("g", [asyncio.CancelledError(), asyncio.CancelledError()]), True),
        (BaseExceptionGroup("g", [asyncio.CancelledError(), ValueError()]), False),
        (ExceptionGroup("g", [ValueError(), KeyError()]), False),
    ],
)
def test_cancellations_are_told_from_errors(error: BaseException, cancelled: bool) -> None:
    """Cancellation is the loops' own exception, one with a reason, or a group of nothing else."""
    assert is_cancellation(error) == cancelled
    failure = failure_of(error)
    assert failure is not None
    assert failure.cancelled == cancelled


def test_trios_cancellation_is_one() -> None:
    """The exception of a cancelled trio scope counts, without trio being known."""
    failure = failure_of(trios_own())
    assert failure is not None
    assert failure.cancelled
    assert failure.error_type == "Cancelled"


def test_a_group_of_one_shows_what_it_holds() -> None:
    """A task group's wrapper around a single exception does not hide its type."""
    failure = failure_of(ExceptionGroup("g", [ExceptionGroup("h", [KeyError()])]))
    assert failure is not None
    assert failure.error_type == "KeyError"


def test_a_reason_becomes_attributes() -> None:
    """Reason and checkpoint are handed on where the exception knows them."""
    failure = failure_of(Cancelled())
    assert failure is not None
    assert failure.facts() == {
        names.ERROR_TYPE: "Cancelled",
        names.CANCELLATION_REASON: "user",
        names.CANCELLATION_CHECKPOINT: "turn",
    }
    error = failure_of(ValueError())
    assert error is not None
    assert error.facts() == {names.ERROR_TYPE: "ValueError"}


def test_an_event_loops_own_cancellation_is_explained_by_whoever_runs_the_work() -> None:
    """Inside a block with an explanation it has a reason; errors and reasons of their own stay."""
    with cancellations_explained(lambda: ("shutdown", "pass")):
        for error in (asyncio.CancelledError(), trios_own()):
            told = failure_of(error)
            assert told is not None
            assert (told.reason, told.checkpoint) == ("shutdown", "pass")
        known, failed = failure_of(Cancelled()), failure_of(ValueError())
    after = failure_of(asyncio.CancelledError())
    assert known is not None
    assert (known.reason, known.checkpoint) == ("user", "turn")
    assert failed is not None
    assert after is not None
    assert [failed.reason, after.reason] == [None, None]
