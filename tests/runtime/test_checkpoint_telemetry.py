"""What saving and resuming looks like in traces, metrics and log events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia import (
    CheckpointOptions,
    InMemoryCheckpointer,
    ProviderError,
    Runner,
    SQLiteCheckpointer,
)
from lovia.errors import MaxTurnsExceeded
from lovia.testing import call, text
from lovia_otel import names
from tests.runtime.saving import Watched, add, saved_run
from tests.runtime.support import scripted

if TYPE_CHECKING:
    from pathlib import Path

    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio


def named(telemetry: Telemetry, name: str) -> list[Any]:
    """Return the finished spans of a name in the order of their start."""
    spans = [span for span in telemetry.exported.get_finished_spans() if span.name == name]
    return sorted(spans, key=lambda span: span.start_time or 0)


async def test_saves_are_spans_with_numbers(telemetry: Telemetry, tmp_path: Path) -> None:
    """Each save says what was written and where; sizes are those of what is new."""
    agent = scripted(call("add", {"a": 1}), text("3"), tools=[add], name="bot")
    async with SQLiteCheckpointer(tmp_path / "c.db") as store:
        await saved_run(agent, store)
    saves = [dict(span.attributes or {}) for span in named(telemetry, names.SPAN_CHECKPOINT_SAVE)]
    assert [save[names.CHECKPOINT_SEQUENCE] for save in saves] == [1, 2, 3, 4, 5]
    assert [save[names.CHECKPOINT_ENTRIES] for save in saves] == [1, 1, 1, 1, 0]
    assert [save[names.CHECKPOINT_STATUS] for save in saves] == ["running"] * 4 + ["completed"]
    assert {save[names.CHECKPOINT_STORE] for save in saves} == {"sqlite"}
    assert all(0 < save[names.CHECKPOINT_SIZE] < 2_000 for save in saves)
    assert telemetry.total(names.METRIC_CHECKPOINT_SIZE) == sum(
        save[names.CHECKPOINT_SIZE] for save in saves
    )
    run = telemetry.spans["invoke_agent bot"]
    assert run.context is not None
    parents = {span.parent.span_id for span in named(telemetry, names.SPAN_CHECKPOINT_SAVE)}
    assert run.context.span_id in parents
    event = dict(telemetry.events[names.EVENT_CHECKPOINT_SAVED].attributes or {})
    assert event[names.CHECKPOINT_STATUS] == "completed"
    assert event[names.RUN_ID] == "r"
    (load,) = named(telemetry, names.SPAN_CHECKPOINT_LOAD)
    assert dict(load.attributes or {}) == {names.CHECKPOINT_STORE: "sqlite"}


async def test_a_resumed_run_links_to_the_one_before(telemetry: Telemetry) -> None:
    """The new span is marked and linked, a log event tells the turns, tokens are those of now."""
    store = InMemoryCheckpointer()
    await saved_run(scripted(call("add", {"a": 1}), ProviderError("x"), tools=[add]), store)
    await saved_run(scripted(text("ok"), tools=[add]), store)
    first, second = named(telemetry, "invoke_agent bot")
    assert first.attributes[names.RUN_RESUMED] is False
    assert second.attributes[names.RUN_RESUMED] is True
    (link,) = second.links
    assert link.context.span_id == first.context.span_id
    assert link.attributes == {names.LINK_TYPE: names.LINK_RESUMED_FROM}
    assert second.attributes[names.USAGE_INPUT_TOKENS] == 1
    assert second.attributes[names.RUN_TURNS] == 2
    resumed = dict(telemetry.events[names.EVENT_RUN_RESUMED].attributes or {})
    assert resumed[names.RUN_TURNS] == 1
    _, load = named(telemetry, names.SPAN_CHECKPOINT_LOAD)
    assert load.attributes[names.CHECKPOINT_ENTRIES] == 3
    assert load.attributes[names.CHECKPOINT_STATUS] == "failed"


async def test_a_replayed_run_opens_no_span(telemetry: Telemetry) -> None:
    """Giving a result again is no run."""
    store = InMemoryCheckpointer()
    for _ in range(2):
        await saved_run(scripted(text("ok")), store)
    assert len(named(telemetry, "invoke_agent bot")) == 1
    assert names.EVENT_RUN_RESUMED not in telemetry.events


async def test_a_run_that_cannot_be_loaded_has_a_span(telemetry: Telemetry) -> None:
    """A failed load is an error on its own span and on the run's."""
    store = InMemoryCheckpointer()
    checkpoint = CheckpointOptions(store, "r", if_run_exists="resume_only")
    await saved_run(scripted(text("x")), store, checkpoint=checkpoint)
    assert telemetry.attributes("invoke_agent bot")[names.RUN_OUTCOME] == "failed"
    await saved_run(scripted(text("x")), Watched(1), run_id="other")
    assert telemetry.attributes(names.SPAN_CHECKPOINT_SAVE)[names.CHECKPOINT_STATUS] == "failed"
    failed = [
        span for span in named(telemetry, names.SPAN_CHECKPOINT_SAVE) if not span.status.is_ok
    ]
    assert failed[0].attributes[names.ERROR_TYPE] == "OSError"


async def test_limits_are_saved_as_limits(telemetry: Telemetry) -> None:
    """The last save of a run at its limit says so, and no cancellation is counted."""
    store = InMemoryCheckpointer()
    agent = scripted(call("add", {"a": 1}), tools=[add])
    _, error = await saved_run(agent, store, max_turns=1)
    assert isinstance(error, MaxTurnsExceeded)
    saved = dict(telemetry.events[names.EVENT_CHECKPOINT_SAVED].attributes or {})
    assert saved[names.CHECKPOINT_STATUS] == "limit_reached"
    assert telemetry.total(names.METRIC_CANCELLATIONS) == 0


async def test_a_handoff_is_told_when_it_fires_and_when_it_is_applied(
    telemetry: Telemetry,
) -> None:
    """Two log events, the first one pending; the counter counts it once."""
    other = scripted(text("done"), name="b")
    await Runner.run(scripted(call("transfer_to_b"), handoffs=[other]), "go")
    told = [
        (log.log_record.attributes or {})[names.HANDOFF_PENDING]
        for log in telemetry.logged.get_finished_logs()
        if log.log_record.event_name == names.EVENT_AGENT_HANDOFF
    ]
    assert told == [True, False]
    assert telemetry.total(names.METRIC_HANDOFFS) == 1
