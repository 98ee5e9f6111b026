"""Plugins: a capability as one piece, made of tools, instructions, hooks, guardrails and views."""

from __future__ import annotations

import inspect
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable

import anyio

from lovia.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from lovia.hooks import AgentHooks
    from lovia.runtime.agent import Agent
    from lovia.runtime.guardrails import GuardrailFn
    from lovia.runtime.run_context import RunContext
    from lovia.tools import Tool
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["Plugin", "PluginInstance", "PluginSet", "ViewInjector", "injected"]

#: ``injector(ctx)`` returns entries that are added to the end of one request, and to nothing else.
ViewInjector: TypeAlias = "Callable[[RunContext[Any]], _Shown | Awaitable[_Shown]]"
_Shown: TypeAlias = "list[TranscriptEntry] | None"

# Seconds that plugins of a run that is being torn down get to close.
_GRACE: Final = 5.0
_log = logging.getLogger("lovia.plugins")


async def _nothing_to_close() -> None:
    """Close nothing."""


@dataclass
class PluginInstance:
    """What a plugin brings into one run.

    Attributes:
        tools: Tools for the model.
        view_injectors: Called before each model call; what they return is shown to the model in
            that call alone and enters no transcript.
        instructions: Added to the system prompt.
        hooks: Observers of events while the agent is active.
        input_guardrails: Look at the transcript before the first model call, and may refuse it.
        output_guardrails: Look at the final output, and may refuse it.
        aclose: Called once, when the run has ended, however it ended.
    """

    tools: list[Tool] = field(default_factory=list)
    view_injectors: list[ViewInjector] = field(default_factory=list)
    instructions: str | None = None
    hooks: AgentHooks | None = None
    input_guardrails: list[GuardrailFn] = field(default_factory=list)
    output_guardrails: list[GuardrailFn] = field(default_factory=list)
    aclose: Callable[[], Awaitable[None]] = _nothing_to_close


@runtime_checkable
class Plugin(Protocol):
    """A capability that agents can be given: ``Agent(plugins=[...])``."""

    @property
    def name(self) -> str:
        """Names it; unique among the plugins of an agent."""
        ...

    async def setup(self, ctx: RunContext[Any]) -> PluginInstance:
        """Return what the plugin brings into a run; called once for each run and agent.

        State that belongs to the run is made here and shared by what is returned. ``ctx.agent`` is
        the agent that is about to become active; ``ctx.entries`` may still be empty.
        """
        ...


class PluginSet:
    """The plugins of one run, set up for each agent when it first becomes active."""

    def __init__(self) -> None:
        self._of_agent: dict[int, tuple[PluginInstance, ...]] = {}
        self._open: list[tuple[str, PluginInstance]] = []

    async def of(self, agent: Agent[Any], ctx: RunContext[Any]) -> tuple[PluginInstance, ...]:
        """Return what an agent's plugins bring, setting them up when it was not active before.

        Raises:
            UserError: Something in ``agent.plugins`` is no plugin, or a name occurs twice.
            Exception: What a plugin's setup raises.
        """
        known = self._of_agent.get(id(agent))
        if known is not None:
            return known
        _check_names(agent)
        instances = []
        for plugin in agent.plugins:
            instance: Any = await plugin.setup(ctx)
            if not isinstance(instance, PluginInstance):
                message = f"setup() of plugin {plugin.name!r} returned {instance!r}."
                raise UserError(message, hint="Return a PluginInstance.")
            self._open.append((plugin.name, instance))
            instances.append(instance)
        self._of_agent[id(agent)] = tuple(instances)
        return tuple(instances)

    async def aclose(self) -> None:
        """Close everything, the last one first; a failure is logged and changes no outcome."""
        with anyio.move_on_after(_GRACE, shield=True):
            while self._open:
                name, instance = self._open.pop()
                try:
                    await instance.aclose()
                except Exception as error:  # noqa: BLE001 - the run has its outcome already
                    await anyio.to_thread.run_sync(_report, name, error)


async def injected(
    injectors: Iterable[ViewInjector], ctx: RunContext[Any]
) -> list[TranscriptEntry]:
    """Return what injectors show the model in the next call."""
    shown: list[TranscriptEntry] = []
    for injector in injectors:
        found: Any = injector(ctx)
        shown.extend((await found if inspect.isawaitable(found) else found) or ())
    return shown


def _check_names(agent: Agent[Any]) -> None:
    names: set[str] = set()
    plugin: Any
    for plugin in agent.plugins:
        if not isinstance(plugin, Plugin):
            message = f"Agent {agent.name!r} lists {plugin!r} as a plugin."
            raise UserError(message, hint="A plugin has a name and `async def setup(self, ctx)`.")
        if plugin.name in names:
            message = f"Agent {agent.name!r} has two plugins named {plugin.name!r}."
            raise UserError(message, hint="Give one of them another name.")
        names.add(plugin.name)


def _report(name: str, error: Exception) -> None:
    """Log a failure (in a worker thread: showing a traceback reads source files)."""
    _log.error("plugin %r could not be closed; the run stands", name, exc_info=error)
