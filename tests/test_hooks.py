"""Hooks: who hears what, and what a failing one costs."""

from __future__ import annotations

from typing import Any

import pytest

from lovia import AgentHooks, UserError, events

pytestmark = pytest.mark.anyio
CTX: Any = None


async def test_a_handler_hears_the_kinds_it_asked_for() -> None:
    """One type, several, or a base class: each handler gets those events, in order."""
    hooks, heard = AgentHooks(), []

    @hooks.on(events.TextDelta)
    def one(event: events.TextDelta, _ctx: Any) -> None:
        heard.append(("one", event.delta))

    @hooks.on((events.TextDelta, events.OutputDiscarded))
    async def several(event: events.Event, _ctx: Any) -> None:
        heard.append(("several", type(event).__name__))

    @hooks.on(events.DeltaEvent)
    def base(event: events.DeltaEvent, _ctx: Any) -> None:
        heard.append(("base", type(event).__name__))

    @hooks.on_any
    def everything(event: events.Event, _ctx: Any) -> None:
        heard.append(("any", type(event).__name__))

    await hooks.dispatch(events.TextDelta("x"), CTX)
    await hooks.dispatch(events.OutputDiscarded(), CTX)
    assert heard == [
        ("one", "x"),
        ("several", "TextDelta"),
        ("base", "TextDelta"),
        ("any", "TextDelta"),
        ("several", "OutputDiscarded"),
        ("base", "OutputDiscarded"),
        ("any", "OutputDiscarded"),
    ]


async def test_a_failing_handler_is_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    """A handler that raises keeps no other from its event."""
    hooks, heard = AgentHooks(), []

    @hooks.on_any
    def bad(_event: events.Event, _ctx: Any) -> None:
        raise ValueError("broken")

    hooks.on_any(lambda event, _ctx: heard.append(event))
    event = events.TextDelta("x")
    await hooks.dispatch(event, CTX)
    assert heard == [event]
    assert hooks.failures == 1
    assert "a hook for TextDelta failed" in caplog.text
    assert "broken" in caplog.text


@pytest.mark.parametrize("kind", [int, "TextDelta", (events.TextDelta, 7)])
def test_only_event_types_can_be_asked_for(kind: Any) -> None:
    """Something that is no event type is refused where it is registered."""
    with pytest.raises(UserError, match="event types"):
        AgentHooks().on(kind)
