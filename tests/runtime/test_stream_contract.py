"""Every stream ends with exactly one of RunCompleted and RunFailed, whatever raises and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lovia import (
    AgentHooks,
    CheckpointOptions,
    GuardrailTripped,
    InMemoryCheckpointer,
    InMemorySession,
    PluginInstance,
    RunCancelled,
    Runner,
    UserError,
    events,
)
from lovia.errors import CheckpointDamaged
from lovia.testing import call, text
from tests.runtime.saving import Watched, add, saved_run
from tests.runtime.support import Untouched, events_of, kinds, scripted

if TYPE_CHECKING:
    from collections.abc import Callable

    from lovia import Agent

pytestmark = pytest.mark.anyio


class Failing:
    """Raises wherever it is called."""

    name = "failing"

    async def setup(self, _ctx: Any) -> Any:
        """Fail as a plugin."""
        raise OSError("here")

    async def apply(self, _entries: Any, *, ctx: Any) -> Any:
        """Fail as a policy."""
        raise OSError("here")

    async def load(self, _run_id: str) -> Any:
        """Fail as a store."""
        raise OSError("here")

    def call(self, *_args: Any) -> Any:
        """Fail as a function."""
        raise OSError("here")


class Closing:
    """A plugin that cannot be closed."""

    name = "closing"

    async def setup(self, _ctx: Any) -> PluginInstance:
        """Set up."""
        return PluginInstance(aclose=self.close)

    async def close(self) -> None:
        """Fail."""
        raise OSError("here")


class Unloadable(InMemoryCheckpointer):
    """A checkpointer that cannot load."""

    async def load(self, _run_id: str) -> Any:
        """Fail."""
        raise OSError("here")


class Damaged(InMemoryCheckpointer):
    """A checkpointer whose runs are damaged."""

    async def load(self, run_id: str) -> Any:
        """Fail."""
        raise CheckpointDamaged("torn", run_id=run_id)


class Unreadable(InMemorySession):
    """A session that cannot be read."""

    async def recall(self, _session_id: str) -> Any:
        """Fail."""
        raise OSError("here")


class Unwritable(InMemorySession):
    """A session that cannot be written."""

    async def append(self, *_args: Any, **_kwargs: Any) -> Any:
        """Fail."""
        raise OSError("here")


def agent(**fields: Any) -> Agent[Any]:
    """Return an agent that needs two turns."""
    return scripted(call("add", {"a": 1}), text("ok"), tools=[add], **fields)


def saved(store: Any) -> dict[str, Any]:
    """Return the options of a run that is saved."""
    return {"checkpoint": CheckpointOptions(store, "r")}


def hooked(hooks: AgentHooks, *types: type[events.Event]) -> AgentHooks:
    """Return hooks of which each fails."""
    for kind in types or (events.Event,):
        hooks.on(kind)(Failing().call)
    return hooks


Case = tuple["Callable[[], Any]", "Callable[[], dict[str, Any]]", type[Exception] | None]

#: What is run, with which options, and what it fails with (None: it completes all the same).
CASES: dict[str, Case] = {
    "no agent": (lambda: "agent", dict, UserError),
    "no turns": (agent, lambda: {"max_turns": 0}, UserError),
    "plugin set-up": (lambda: agent(plugins=[Failing()]), dict, OSError),
    "no plugin": (lambda: agent(plugins=[object()]), dict, UserError),
    "plugin tear-down": (lambda: agent(plugins=[Closing()]), dict, None),
    "policy": (lambda: agent(context_policy=Failing()), dict, OSError),
    "every hook": (lambda: agent(hooks=hooked(AgentHooks())), dict, None),
    "hook of the end": (lambda: agent(hooks=hooked(AgentHooks(), events.RunCompleted)), dict, None),
    "instructions": (lambda: agent(instructions=Failing().call), dict, OSError),
    "input guardrail": (lambda: agent(input_guardrails=[lambda *_: "no"]), dict, GuardrailTripped),
    "output guardrail": (lambda: agent(output_guardrails=[Failing().call]), dict, OSError),
    "snapshot load": (agent, lambda: saved(Unloadable()), OSError),
    "damaged snapshot": (agent, lambda: saved(Damaged()), CheckpointDamaged),
    "first save": (agent, lambda: saved(Watched(1)), OSError),
    "a save in a turn": (agent, lambda: saved(Watched(2)), OSError),
    "a save of a result": (agent, lambda: saved(Watched(3)), OSError),
    "the last save": (agent, lambda: saved(Watched(5)), OSError),
    "every save": (agent, lambda: saved(Watched(*range(1, 50))), OSError),
    "session read": (agent, lambda: {"session": Unreadable(), "session_id": "s"}, OSError),
    "session write": (agent, lambda: {"session": Unwritable(), "session_id": "s"}, OSError),
    "no session id": (agent, lambda: {"session": InMemorySession()}, UserError),
    "odd session id": (
        agent,
        lambda: {"session": InMemorySession(), "session_id": "\ud800"},
        UserError,
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_one_event_closes_the_stream(case: str) -> None:
    """The last event is the only one of its kind, and result() says the same."""
    make, options, kind = CASES[case]
    handle = Runner.stream(make(), "go", **options())
    seen = await events_of(handle)
    ends = [e for e in seen if isinstance(e, (events.RunCompleted, events.RunFailed))]
    assert ends == [seen[-1]]
    if kind is None:
        assert isinstance(seen[-1], events.RunCompleted)
        assert (await handle.result()) is seen[-1].result
    else:
        assert isinstance(seen[-1], events.RunFailed)
        with pytest.raises(kind) as caught:
            await handle.result()
        assert seen[-1].error is caught.value


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
async def test_a_save_that_failed_once_costs_nothing(number: int) -> None:
    """Whichever save fails, the run goes on from there when it is asked for again."""
    store = Watched(number)
    _, error = await saved_run(agent(), store)
    assert isinstance(error, OSError)
    # From the second save on the model's first answer is there, saved or still to be saved.
    fresh = agent() if number == 1 else scripted(text("ok"), tools=[add])
    _, result = await saved_run(fresh, store)
    assert (result.output, result.turns) == ("ok", 2)
    assert len(result.entries) == 4
    kept = await store.load("r")
    assert kept is not None
    assert kept.entries == result.entries


async def test_an_ending_that_cannot_be_saved_hides_nothing() -> None:
    """The error that ended the run is told; that this could not be saved is a note on it."""

    class Broken(Untouched):
        async def apply(self, entries: Any, *, ctx: Any) -> Any:
            raise KeyError("mine")

    _, error = await saved_run(agent(context_policy=Broken()), Watched(2))
    assert isinstance(error, KeyError)
    assert any("disk full" in note for note in error.__notes__)


async def test_a_reader_that_leaves_gets_no_second_end() -> None:
    """After an early exit the stream has ended once, as cancelled."""
    heard: list[str] = []
    hooks = AgentHooks()
    hooks.on_any(lambda event, _ctx: heard.append(type(event).__name__))
    async with Runner.stream(agent(hooks=hooks), "go") as handle:
        async for _event in handle:
            break
    assert heard.count("RunFailed") == 1
    assert heard[-1] == "RunFailed"
    assert kinds([event async for event in handle]) == ["RunFailed"]
    with pytest.raises(RunCancelled):
        await handle.result()
