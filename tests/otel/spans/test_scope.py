"""The life of a scope: nesting, errors, cancellation, closing once, and doing no harm."""

from __future__ import annotations

import contextlib
import functools
import threading
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

from lovia_otel import (
    ChatScope,
    Scope,
    chat_scope,
    fold_scope,
    names,
    pass_scope,
    run_scope,
    stage_scope,
    turn_scope,
    use_providers,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from tests.otel.conftest import Telemetry


class Stopped(Exception):
    """A cancellation that the runtime turned into an exception of its own."""

    cancellation_reason = "timeout"
    cancellation_checkpoint = "fold"


def status(telemetry: Telemetry, span: str) -> StatusCode:
    """Return the status of a finished span."""
    return telemetry.spans[span].status.status_code


def parent(telemetry: Telemetry, span: str) -> str | None:
    """Return the name of a span's parent."""
    above = telemetry.spans[span].parent
    if above is None:
        return None
    by_id = {s.context.span_id: s.name for s in telemetry.spans.values() if s.context is not None}
    return by_id[above.span_id]


# --- nesting ---


def test_scopes_nest_as_their_blocks_do(telemetry: Telemetry) -> None:
    """Run, turn, pass, stage, fold and summary call are each a child of the one before."""
    with (
        run_scope(agent="a", run_id="r", session_id=None),
        turn_scope(index=1),
        pass_scope(policy="p", trigger="threshold", pass_id="1"),
        stage_scope(stage="auto_summary", index=3),
        fold_scope(index=0),
        chat_scope(provider="openai", model="m", purpose="summarize", agent="a"),
    ):
        pass
    chain = ["chat m", "fold_chunk", "compact_context.stage auto_summary", "compact_context"]
    chain += ["agent_turn", "invoke_agent a"]
    assert [parent(telemetry, span) for span in chain] == [*chain[1:], None]


def test_a_span_of_the_application_is_the_parent(telemetry: Telemetry) -> None:
    """A scope joins the trace that is current where it opens."""
    tracer = telemetry.tracer_provider.get_tracer("app")
    with tracer.start_as_current_span("request"), turn_scope(index=1):
        pass
    assert parent(telemetry, "agent_turn") == "request"


@pytest.mark.anyio
async def test_tasks_of_a_group_find_their_parent(telemetry: Telemetry) -> None:
    """Tasks that run side by side are children of the scope around their group."""

    async def work(index: int) -> None:
        with fold_scope(index=index):
            await anyio.lowlevel.checkpoint()
            with chat_scope(provider="p", model=f"m{index}", purpose="summarize", agent=None):
                await anyio.lowlevel.checkpoint()

    with stage_scope(stage="s", index=0):
        async with anyio.create_task_group() as group:
            for index in range(3):
                group.start_soon(work, index)
    spans = telemetry.exported.get_finished_spans()
    folds = {s.context.span_id: s for s in spans if s.name == "fold_chunk" and s.context}
    (stage,) = [s for s in spans if s.name.startswith("compact_context.stage")]
    assert len(folds) == 3
    assert {f.parent.span_id for f in folds.values() if f.parent} == {stage.context.span_id}
    for chat in [s for s in spans if s.name.startswith("chat")]:
        assert chat.parent is not None
        fold = folds[chat.parent.span_id]
        assert chat.name == f"chat m{(fold.attributes or {})[names.CHUNK_INDEX]!s}"


@pytest.mark.anyio
async def test_worker_threads_find_their_parent(telemetry: Telemetry) -> None:
    """A scope opened in a worker thread is a child of the one around the call."""

    def work() -> None:
        with fold_scope(index=0):
            anyio.from_thread.run(back)

    async def back() -> None:
        with turn_scope(index=9):
            await anyio.lowlevel.checkpoint()

    with stage_scope(stage="s", index=0):
        await anyio.to_thread.run_sync(work)
    assert parent(telemetry, "fold_chunk") == "compact_context.stage s"
    assert parent(telemetry, "agent_turn") == "fold_chunk"


@pytest.mark.anyio
async def test_a_stream_holds_no_current_span_across_its_yields(telemetry: Telemetry) -> None:
    """A generator that opens by hand is the parent of its own work, not of its reader's."""

    async def stream() -> AsyncGenerator[int, None]:
        run = run_scope(agent="a", run_id="r", session_id=None).open()
        try:
            for index in range(2):
                with run.active(), turn_scope(index=index):
                    await anyio.lowlevel.checkpoint()
                yield index
        except BaseException as error:
            run.close(error)
            raise
        finally:
            run.close()

    reading = stream()
    async for _ in reading:
        assert not trace.get_current_span().get_span_context().is_valid
        with chat_scope(provider="p", model="reader", purpose="turn", agent=None):
            pass
        break
    await reading.aclose()
    assert parent(telemetry, "agent_turn") == "invoke_agent a"
    assert parent(telemetry, "chat reader") is None
    assert status(telemetry, "invoke_agent a") is StatusCode.UNSET


# --- errors and cancellation ---


def test_an_exception_makes_an_error_and_goes_on(telemetry: Telemetry) -> None:
    """Status and error type are set on each open span; no text and no event leave."""
    with (
        pytest.raises(KeyError, match="secret"),
        run_scope(agent="a", run_id="r", session_id=None),
        turn_scope(index=1),
    ):
        raise KeyError("secret")
    for name in ("invoke_agent a", "agent_turn"):
        span = telemetry.spans[name]
        assert span.status.status_code is StatusCode.ERROR
        assert span.status.description is None
        assert span.events == ()
        assert telemetry.attributes(name)[names.ERROR_TYPE] == "KeyError"
    assert telemetry.attributes("invoke_agent a")[names.RUN_OUTCOME] == "failed"


def test_an_exception_text_leaves_only_with_content(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With content capture on spans the status says what was raised."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, "SPAN_ONLY")
    with pytest.raises(ValueError, match="why"), turn_scope(index=1):
        raise ValueError("why")
    assert telemetry.spans["agent_turn"].status.description == "why"


def test_a_handled_exception_is_no_error(telemetry: Telemetry) -> None:
    """What is caught inside the scope leaves no trace on its span."""
    with turn_scope(index=1), contextlib.suppress(ValueError):
        int("no number")
    assert status(telemetry, "agent_turn") is StatusCode.UNSET


def test_a_settled_outcome_outlasts_the_exception(telemetry: Telemetry) -> None:
    """A run that reached its limit says so, although the limit's exception ends it."""
    run = run_scope(agent="a", run_id="r", session_id=None).open()
    run.settle(outcome="limit_reached", error_type="MaxTurnsExceeded")
    run.close(RuntimeError())
    attributes = telemetry.attributes("invoke_agent a")
    assert attributes[names.RUN_OUTCOME] == "limit_reached"
    assert attributes[names.ERROR_TYPE] == "MaxTurnsExceeded"


def test_a_closed_generator_is_no_error(telemetry: Telemetry) -> None:
    """`GeneratorExit` ends the span as if the work were done."""
    with pytest.raises(GeneratorExit), turn_scope(index=1):
        raise GeneratorExit
    assert status(telemetry, "agent_turn") is StatusCode.UNSET


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_an_error_and_no_cancellation(
    telemetry: Telemetry, interrupt: type[BaseException]
) -> None:
    """Ctrl-C in a run fails it: nobody asked the run to stop."""
    with pytest.raises(interrupt), run_scope(agent="a", run_id="r", session_id=None):
        raise interrupt
    attributes = telemetry.attributes("invoke_agent a")
    assert attributes[names.ERROR_TYPE] == interrupt.__name__
    assert attributes[names.RUN_OUTCOME] == "failed"


@pytest.mark.anyio
async def test_the_loops_own_cancellation_is_one(telemetry: Telemetry) -> None:
    """A cancelled scope of asyncio or trio ends as cancelled, on every open span."""
    with anyio.CancelScope() as cancel:
        with (
            pass_scope(policy="p", trigger="threshold", pass_id="1"),
            stage_scope(stage="s", index=0),
        ):
            cancel.cancel()
            await anyio.sleep(10)
    for name in ("compact_context", "compact_context.stage s"):
        assert status(telemetry, name) is StatusCode.ERROR
        attributes = telemetry.attributes(name)
        assert attributes[names.COMPACTION_OUTCOME] == "cancelled"
        assert attributes[names.ERROR_TYPE] in {"CancelledError", "Cancelled"}


def test_a_cancellation_tells_why_and_where(telemetry: Telemetry) -> None:
    """An exception that knows the reason and the checkpoint hands both to each open span."""
    with (
        pytest.raises(Stopped),
        run_scope(agent="a", run_id="r", session_id=None),
        turn_scope(index=1),
    ):
        raise Stopped
    for name in ("invoke_agent a", "agent_turn"):
        attributes = telemetry.attributes(name)
        assert attributes[names.CANCELLATION_REASON] == "timeout"
        assert attributes[names.CANCELLATION_CHECKPOINT] == "fold"
    assert telemetry.attributes("invoke_agent a")[names.RUN_OUTCOME] == "cancelled"


# --- closing ---


def test_closing_twice_ends_once(telemetry: Telemetry) -> None:
    """The second close, and one after the `with` block, change nothing."""
    run = run_scope(agent="a", run_id="r", session_id=None)
    with run:
        run.close()
        run.settle(turns=9)
    run.close(ValueError())
    assert len(telemetry.exported.get_finished_spans()) == 1
    assert status(telemetry, "invoke_agent a") is StatusCode.UNSET
    assert names.RUN_TURNS not in telemetry.attributes("invoke_agent a")
    assert telemetry.points(names.METRIC_RUN_DURATION)[0].count == 1
    assert telemetry.total(names.METRIC_RUNS_ACTIVE) == 0


def test_opening_twice_starts_once(telemetry: Telemetry) -> None:
    """A scope opened by hand may still be used as a context manager."""
    turn = turn_scope(index=1).open()
    with turn:
        pass
    assert len(telemetry.exported.get_finished_spans()) == 1


def test_a_scope_that_never_opened_closes_in_silence(telemetry: Telemetry) -> None:
    """Closing without opening records nothing, and opening afterwards neither."""
    turn = turn_scope(index=1)
    turn.close()
    turn.open().close()
    assert telemetry.exported.get_finished_spans() == ()


def test_a_later_settlement_adds_to_the_first(telemetry: Telemetry) -> None:
    """What was settled stays when a later call does not know it."""
    with chat_scope(provider="p", model="m", purpose="turn", agent=None) as chat:
        chat.settle(input_tokens=5, response_id="x")
        chat.settle(output_tokens=7)
    attributes = telemetry.attributes("chat m")
    assert attributes[names.USAGE_INPUT_TOKENS] == 5
    assert attributes[names.USAGE_OUTPUT_TOKENS] == 7
    assert attributes[names.RESPONSE_ID] == "x"


def test_a_scope_may_close_in_another_thread(telemetry: Telemetry) -> None:
    """A span that was opened by hand is ended by whoever finishes the work."""
    turn = turn_scope(index=1).open()
    thread = threading.Thread(target=turn.close)
    thread.start()
    thread.join()
    assert "agent_turn" in telemetry.spans


# --- sampling ---


def test_a_trace_that_is_sampled_out_still_gives_metrics(telemetry: Telemetry) -> None:
    """Spans that nobody keeps do not take the metrics with them."""
    unsampled = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    with (
        use_providers(tracer_provider=unsampled, meter_provider=telemetry.meter_provider),
        chat_scope(provider="p", model="m", purpose="turn", agent=None) as chat,
    ):
        chat.settle(input_tokens=5)
    assert telemetry.exported.get_finished_spans() == ()
    assert telemetry.total(names.METRIC_INPUT_TOKENS) == 5


# --- costing nothing ---


@pytest.mark.usefixtures("no_sdk")
def test_without_an_sdk_no_fact_is_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scope that nobody listens to neither builds attributes nor changes the context."""
    collected: list[str] = []
    for step in ("_start", "_note", "_measure"):
        monkeypatch.setattr(ChatScope, step, lambda *_, step=step: collected.append(step))
    before = otel_context.get_current()
    with chat_scope(provider="p", model="m", purpose="turn", agent="a") as chat:
        assert otel_context.get_current() is before
        chat.settle(input_tokens=5)
    assert collected == []


# --- doing no harm ---


class Broken(SpanProcessor):
    """A span processor that fails in one of its methods."""

    def __init__(self, method: str) -> None:
        self._method = method

    def on_start(self, span: Span, parent_context: Any = None) -> None:
        """Fail if this is the method that fails."""
        if self._method == "on_start":
            raise RuntimeError(self._method)

    def on_end(self, span: ReadableSpan) -> None:
        """Fail if this is the method that fails."""
        if self._method == "on_end":
            raise RuntimeError(self._method)


@pytest.mark.parametrize("method", ["on_start", "on_end"])
def test_a_broken_processor_costs_spans_and_nothing_else(telemetry: Telemetry, method: str) -> None:
    """The work goes on, its metrics are there, and the loss is counted."""
    broken = TracerProvider(shutdown_on_exit=False)
    broken.add_span_processor(Broken(method))
    with (
        use_providers(tracer_provider=broken, meter_provider=telemetry.meter_provider),
        run_scope(agent="a", run_id="r", session_id=None) as run,
    ):
        run.settle(outcome="completed")
        run.traceparent()
    assert telemetry.keys(names.METRIC_RUN_DURATION)[names.RUN_OUTCOME] == "completed"
    assert telemetry.total(names.METRIC_RUNS_ACTIVE) == 0
    assert telemetry.total(names.METRIC_DROPPED_EVENTS) == 1


def test_a_context_that_cannot_be_entered_costs_the_nesting_alone(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a context storage that fails the work goes on, and its span is recorded."""

    def attach(context: object) -> None:
        raise RuntimeError("no storage")

    monkeypatch.setattr(otel_context, "attach", attach)
    with turn_scope(index=1) as turn:
        turn.settle(tool_calls=1)
    assert telemetry.attributes("agent_turn")[names.TURN_TOOL_CALLS] == 1
    assert telemetry.total(names.METRIC_DROPPED_EVENTS) == 1


class Hostile:
    """A value on which everything fails."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class HostileError(Exception):
    """An exception that fails when it is looked at."""

    @property
    def cancellation_reason(self) -> str:
        """Fail."""
        raise RuntimeError("no reason")


def _settle_hostile(scope: Any) -> None:
    scope.settle(turns=Hostile())


def _content_hostile(scope: Any) -> None:
    scope.content(input_messages=functools.partial(str, Hostile()))


def _raise_hostile(scope: Any) -> None:
    raise HostileError


@pytest.mark.parametrize("harm", [_settle_hostile, _content_hostile, _raise_hostile])
def test_a_hostile_value_harms_neither_run_nor_span(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, harm: Callable[[Scope], None]
) -> None:
    """Whatever fails while recording is dropped and counted; the span still ends."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, "SPAN_ONLY")
    caught: list[BaseException] = []
    try:
        with run_scope(agent="a", run_id="r", session_id=None) as run:
            harm(run)
    except HostileError as error:
        caught.append(error)
    assert bool(caught) == (harm is _raise_hostile)
    assert "invoke_agent a" in telemetry.spans
    assert telemetry.total(names.METRIC_DROPPED_EVENTS) == 1


@pytest.mark.parametrize("agent", ["a\ud800b", "", "x" * 5000, "line\nbreak\x00"])
def test_hostile_names_are_recorded_as_they_can_be(telemetry: Telemetry, agent: str) -> None:
    """Names that do not encode, are empty or have no end make a span all the same."""
    with run_scope(agent=agent, run_id=agent, session_id=agent):
        pass
    (span,) = telemetry.exported.get_finished_spans()
    for text in (span.name, *(v for v in (span.attributes or {}).values() if isinstance(v, str))):
        assert text.encode("utf-8").decode("utf-8") == text
        assert len(text) <= 1100
