"""Plugins: a capability as one piece."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from lovia import (
    AgentHooks,
    GuardrailTripped,
    InputEntry,
    Plugin,
    PluginInstance,
    Runner,
    UserError,
    events,
    tool,
)
from lovia.testing import ScriptedProvider, call, text
from tests.runtime.saving import add
from tests.runtime.support import Untouched, provider_of, scripted

pytestmark = pytest.mark.anyio


class Notes:
    """A plugin with something of everything, which keeps the notes of one run."""

    def __init__(self, name: str = "notes") -> None:
        self.name = name
        self.log: list[str] = []

    async def setup(self, ctx: Any) -> PluginInstance:
        """Make what belongs to one run."""
        self.log.append(f"set up for {ctx.agent.name}")
        notes: list[str] = []
        hooks = AgentHooks()
        hooks.on(events.TurnStarted)(lambda _event, _ctx: self.log.append("turn"))

        @tool
        def note(what: str) -> str:
            """Note something."""
            notes.append(what)
            return "noted"

        async def show(_ctx: Any) -> Any:
            return [InputEntry("user", f"Notes: {notes}")] if notes else None

        async def close() -> None:
            self.log.append(f"closed with {notes}")

        return PluginInstance(
            tools=[note],
            view_injectors=[show, lambda _ctx: None],
            instructions="Take notes.",
            hooks=hooks,
            input_guardrails=[lambda _e, _c: self.log.append("in")],
            output_guardrails=[lambda output, _c: "silent" if not output else None],
            aclose=close,
        )


async def test_a_plugin_brings_all_of_it() -> None:
    """Tools, instructions, hooks, guardrails and views work as if they were the agent's own."""
    notes, policy = Notes(), Untouched()
    agent = scripted(
        *(call("note", {"what": "x"}), text("ok")),
        tools=[add],
        plugins=[notes],
        instructions="Be brief.",
        context_policy=policy,
    )
    assert isinstance(notes, Plugin)
    result = await Runner.run(agent, "go", extra_instructions="Now.")
    first, second = provider_of(agent).requests
    assert first.entries[0] == InputEntry("system", "Be brief.\n\nNow.\n\nTake notes.")
    assert [schema["function"]["name"] for schema in first.tools] == ["add", "note"]
    assert second.entries[-1] == InputEntry("user", "Notes: ['x']")
    assert second.entries[1:-1] == result.entries[:-1]
    assert all("Notes" not in str(entry) for entry in [*result.entries, *policy.contexts])
    assert notes.log == ["set up for bot", "in", "turn", "turn", "closed with ['x']"]


async def test_runs_do_not_share_what_a_plugin_made() -> None:
    """Each run has an instance of its own, one for each agent, also when it comes back."""
    notes = Notes()
    one = scripted(call("transfer_to_two"), text("home"), name="one", plugins=[notes])
    two = scripted(call("transfer_to_one"), name="two", plugins=[notes], handoffs=[one])
    one.handoffs.append(two)
    await Runner.run(one, "go")
    made = [line for line in notes.log if line not in {"turn", "in"}]
    assert made == ["set up for one", "set up for two", "closed with []", "closed with []"]


async def test_plugins_are_closed_however_the_run_ends() -> None:
    """A refused answer, a failed set-up and a cancellation close what was set up."""
    kept = Notes()
    with pytest.raises(GuardrailTripped, match="silent"):
        await Runner.run(scripted(text(""), plugins=[kept]), "go")
    assert kept.log[-1] == "closed with []"

    class Broken(Notes):
        async def setup(self, ctx: Any) -> PluginInstance:
            raise OSError("no")

    kept = Notes()
    with pytest.raises(OSError, match="no"):
        await Runner.run(scripted(text("x"), plugins=[kept, Broken("b")]), "go")
    assert kept.log == ["set up for bot", "closed with []"]

    async def never(_request: Any) -> Any:
        await anyio.sleep(60)

    kept = Notes()
    with anyio.move_on_after(0.05):
        await Runner.run(scripted(never, plugins=[kept]), "go")
    assert kept.log[-1] == "closed with []"


@pytest.mark.parametrize(
    ("plugins", "named"),
    [
        ([Notes(), Notes()], "two plugins named 'notes'"),
        (["notes"], "'notes' as a plugin"),
    ],
)
async def test_odd_plugins_are_refused(plugins: list[Any], named: str) -> None:
    """Names are unique, and what is no plugin is named."""
    with pytest.raises(UserError, match=named):
        await Runner.run(scripted(text("x"), plugins=plugins), "go")


async def test_a_setup_returns_an_instance() -> None:
    """A plugin that returns something else is named."""

    class Odd:
        name = "odd"

        async def setup(self, _ctx: Any) -> Any:
            return None

    with pytest.raises(UserError, match="'odd' returned None"):
        await Runner.run(scripted(text("x"), plugins=[Odd()]), "go")


async def test_what_is_shown_counts_in_the_request() -> None:
    """Entries beside the view are part of the request's size, and of no view or history."""
    plain, shown = scripted(text("ok")), scripted(text("ok"), plugins=[_Long()])
    sizes = []
    for agent in (plain, shown):
        await Runner.run(agent, "go")
        provider = provider_of(agent)
        assert isinstance(provider, ScriptedProvider)
        sizes.append(provider.requests[0].tokens)
    assert sizes[1] > sizes[0] + 500


class _Long:
    name = "long"

    async def setup(self, _ctx: Any) -> PluginInstance:
        return PluginInstance(view_injectors=[lambda _ctx: [InputEntry("user", "word " * 1_000)]])
