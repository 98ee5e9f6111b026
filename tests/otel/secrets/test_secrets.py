"""What people, models, tools and servers say stays at home, by whatever way telemetry leaves."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia import AgentHooks
from lovia_otel import (
    CaptureMode,
    EventBridge,
    LoviaInstrumentor,
    configure,
    names,
    observe,
    read_recording,
)
from lovia_otel.content import ContentSettings, set_content
from tests.otel.secrets import marked
from tests.otel.secrets.marked import MARK
from tests.receiver import Receiver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.otel.conftest import Telemetry


def run(folder: Path, hooks: AgentHooks | None = None) -> None:
    """Make the marked run."""
    anyio.run(marked.run, folder, hooks)


@pytest.fixture
def _content() -> Iterator[None]:
    """Put the content settings back afterwards."""
    previous = set_content(ContentSettings())
    yield
    set_content(previous)


def exported(telemetry: Telemetry) -> dict[str, str]:
    """Return all that was exported as text, by signal."""
    data = telemetry.reader.get_metrics_data()
    return {
        "spans": "\n".join(span.to_json() for span in telemetry.exported.get_finished_spans()),
        "events": "\n".join(log.to_json() for log in telemetry.logged.get_finished_logs()),
        "metrics": "" if data is None else data.to_json(),
    }


def leaks(text: str) -> list[str]:
    """Return each place where a mark stands, with what is around it."""
    found = []
    at = text.find(MARK)
    while at >= 0:
        found.append(text[max(0, at - 80) : at + 30])
        at = text.find(MARK, at + 1)
    return found


def seen(text: str) -> set[str]:
    """Return which kinds of captured content a text holds."""
    return {kind for kind in marked.CAPTURED if kind in text}


# --- content off ---


def test_a_run_exports_none_of_it(telemetry: Telemetry, tmp_path: Path) -> None:
    """No signal holds a mark, though everything that it speaks of is there."""
    run(tmp_path)
    told = exported(telemetry)
    assert [*map(leaks, told.values())] == [[], [], []]
    spans = {span.name.partition(" ")[0] for span in telemetry.exported.get_finished_spans()}
    assert spans == {
        *(names.SPAN_RUN, names.SPAN_TURN, names.SPAN_CHAT, names.SPAN_TOOL),
        *(names.SPAN_PASS, names.SPAN_STAGE, names.SPAN_FOLD, names.SPAN_ARCHIVE),
        *(names.SPAN_CHECKPOINT_SAVE, names.SPAN_CHECKPOINT_LOAD),
    }
    assert {
        *(names.EVENT_CONTEXT_COMPACTED, names.EVENT_COMPACTION_EXCEPTION),
        *(names.EVENT_ARCHIVE_WRITTEN, names.EVENT_AGENT_HANDOFF, names.EVENT_CHECKPOINT_SAVED),
    } <= set(telemetry.events)
    errors = {(s.attributes or {}).get(names.ERROR_TYPE) for s in telemetry.spans.values()}
    assert "ValueError" in errors


def test_no_destination_gets_any_of_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `configure` writes into a file and prints on the console holds no mark."""
    monkeypatch.delenv(names.ENV_CAPTURE_CONTENT, raising=False)
    file = tmp_path / "trace.jsonl"
    with configure(file=file, console=True, set_global=False):
        run(tmp_path)
    assert leaks(file.read_text(encoding="utf-8")) == []
    assert names.SPAN_PASS in (printed := capfd.readouterr().err)
    assert leaks("\n".join(line for line in printed.splitlines() if " ms" in line)) == []
    recording = read_recording(file)
    assert recording.named(names.SPAN_FOLD)
    assert recording.events


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_no_receiver_is_sent_any_of_it(
    compression: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that goes over the network holds a mark, whatever the body's encoding."""
    monkeypatch.delenv(names.ENV_CAPTURE_CONTENT, raising=False)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", compression)
    with Receiver() as receiver, configure(receiver.url, set_global=False):
        run(tmp_path)
    sent = [body.decode("utf-8", "replace") for _, body in receiver.bodies]
    assert [place for body in sent for place in leaks(body)] == []
    assert names.SPAN_FOLD in receiver.span_names()
    assert receiver.logs()
    assert names.METRIC_RUN_DURATION in {metric.name for metric in receiver.metrics()}


def test_the_bridge_alone_tells_none_of_it(telemetry: Telemetry, tmp_path: Path) -> None:
    """The events of a run that nothing else records are told without a mark."""
    hooks = AgentHooks()
    heard: list[tuple[Any, Any]] = []
    hooks.on_any(lambda event, ctx: heard.append((event, ctx)))
    run(tmp_path, hooks)
    for exporter in (telemetry.exported, telemetry.logged):
        exporter.clear()
    bridge = EventBridge()
    for event, ctx in heard:
        with suppress(AttributeError):  # as another line's events, which no scope has recorded
            object.__setattr__(event, "pass_id", f"other-{event.pass_id}")
        bridge(event, _Elsewhere(ctx))
    assert bridge.close()
    assert names.EVENT_CONTEXT_COMPACTED in telemetry.events
    told = exported(telemetry)
    assert [*map(leaks, told.values())] == [[], [], []]


class _Elsewhere:
    """The context of a run in a runtime that does not record itself."""

    def __init__(self, ctx: Any) -> None:
        self.agent, self.run_id, self.session_id = ctx.agent, "other", ctx.session_id


def test_the_instrumentor_exports_none_of_it(telemetry: Telemetry, tmp_path: Path) -> None:
    """Under the instrumentor it is the same."""
    LoviaInstrumentor().instrument()
    try:
        run(tmp_path)
    finally:
        LoviaInstrumentor().uninstrument()
    told = exported(telemetry)
    assert [*map(leaks, told.values())] == [[], [], []]
    assert names.SPAN_PASS in told["spans"]


# --- policies of somebody else's ---


class _Applying:
    """A policy in the shape of lovia's, with a summary in what it returns."""

    def __init__(self, *, fails: bool) -> None:
        self.fails = fails

    async def apply(self, entries: list[Any], *, ctx: Any) -> Any:
        """Keep the last entry."""
        if self.fails:
            raise ValueError(f"{MARK}: cannot keep {entries}")
        return type("Result", (), {"entries": entries[-1:], "summary": marked.SUMMARY})()


class _Compacting(_Applying):
    """A policy that compacts."""

    async def compact(self, entries: list[Any], **_: Any) -> Any:
        """Keep the last entry."""
        return await super().apply(entries, ctx=None)

    apply = None  # type: ignore[assignment]


async def _keep_last(messages: list[Any]) -> list[Any]:
    return messages[-1:]


async def _fail(messages: list[Any]) -> list[Any]:
    raise ValueError(f"{MARK}: cannot keep {messages}")


POLICIES: dict[str, Callable[[], Any]] = {
    "apply": lambda: _Applying(fails=False),
    "apply that fails": lambda: _Applying(fails=True),
    "compact": lambda: _Compacting(fails=False),
    "compact that fails": lambda: _Compacting(fails=True),
    "callable": lambda: _keep_last,
    "callable that fails": lambda: _fail,
}


@pytest.mark.anyio
@pytest.mark.parametrize("kind", POLICIES)
async def test_an_observed_policy_exports_none_of_it(kind: str, telemetry: Telemetry) -> None:
    """Neither messages nor summaries nor exceptions of a foreign policy leave."""
    observed = observe(POLICIES[kind]())
    heard = [{"role": "user", "content": f"{marked.USER} {index}"} for index in range(9)]
    with suppress(ValueError):
        if hasattr(observed, "compact"):
            await observed.compact(heard)
        elif getattr(observed, "apply", None) is not None:
            await observed.apply(heard, ctx=None)
        else:
            await observed(heard)
    told = exported(telemetry)
    assert [*map(leaks, told.values())] == [[], [], []]
    assert names.SPAN_PASS in told["spans"]


# --- content on ---


@pytest.mark.usefixtures("_content")
@pytest.mark.parametrize("mode", CaptureMode)
def test_content_is_seen_where_the_mode_says(
    mode: CaptureMode, telemetry: Telemetry, tmp_path: Path
) -> None:
    """Each mode lets every kind of content into the signals that it names, and into no other."""
    set_content(ContentSettings(mode))
    run(tmp_path)
    told = exported(telemetry)
    everything = set(marked.CAPTURED)
    assert seen(told["spans"]) == (everything if mode.on_spans else set())
    assert seen(told["events"]) == (everything if mode.on_events else set())
    for signal, allowed in (("spans", mode.on_spans), ("events", mode.on_events)):
        assert bool(leaks(told[signal])) == allowed
    assert leaks(told["metrics"]) == []


@pytest.mark.usefixtures("_content")
@pytest.mark.parametrize("mode", CaptureMode)
def test_a_redaction_hook_sees_all_that_leaves(
    mode: CaptureMode, telemetry: Telemetry, tmp_path: Path
) -> None:
    """What the hook takes out is nowhere, in any mode: exception texts and paths included."""
    set_content(ContentSettings(mode, lambda text: text.replace(MARK, "[…]")))
    run(tmp_path)
    told = exported(telemetry)
    assert [*map(leaks, told.values())] == [[], [], []]
    everywhere = json.dumps("[…]").strip('"')
    assert (everywhere in told["spans"] or "[…]" in told["spans"]) == mode.on_spans
    assert (everywhere in told["events"] or "[…]" in told["events"]) == mode.on_events


@pytest.mark.usefixtures("_content")
@pytest.mark.parametrize("mode", CaptureMode)
def test_a_failing_hook_lets_nothing_out(
    mode: CaptureMode, telemetry: Telemetry, tmp_path: Path
) -> None:
    """Content that cannot be redacted is dropped and counted; the run and its spans stand."""

    def broken(text: str) -> str:
        raise LookupError(f"no rule for {text}")

    set_content(ContentSettings(mode, broken))
    run(tmp_path)
    told = exported(telemetry)
    assert [*map(leaks, told.values())] == [[], [], []]
    assert names.SPAN_FOLD in telemetry.spans
    dropped = telemetry.total(names.METRIC_DROPPED_EVENTS)
    assert bool(dropped) == (mode is not CaptureMode.NO_CONTENT)
