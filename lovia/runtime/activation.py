"""The active agent: everything that follows from who speaks now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lovia.errors import UserError
from lovia.providers.base import model_name, provider_name
from lovia.runtime.handoff import Handoff, handoff_of, handoff_tool
from lovia.runtime.output import OutputType, output_type
from lovia.runtime.policies import as_policy
from lovia.tools import Tool
from lovia.transcript.entries import InputEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lovia.context.policy import ContextPolicy
    from lovia.providers.base import Provider
    from lovia.retry import RetryPolicy
    from lovia.runtime.agent import Agent
    from lovia.runtime.guardrails import GuardrailFn
    from lovia.runtime.plugins import PluginInstance, ViewInjector
    from lovia.runtime.state import RunState

__all__ = ["ActiveAgent", "activate"]


@dataclass(frozen=True)
class ActiveAgent:
    """An agent as a run uses it, from the start or a handoff to the next handoff.

    Rendered once, so that every request of this time starts with the same bytes.

    Attributes:
        agent: The agent.
        provider: Who answers.
        policy: What decides on the view.
        retry: When a failed model call is made again, or ``None``.
        tools: By name: the agent's own, its handoffs, its plugins', and the policy's.
        schemas: The tools' schemas, as they go into requests.
        prompt: The system entry that leads each request, or ``None``.
        output: What the final answer has to be, or ``None`` for text.
        response_format: The same as requests carry it, where the provider takes it.
        handoffs: The agents that may take over, by the name of the tool.
        plugins: What the agent's plugins bring.
    """

    agent: Agent[Any]
    provider: Provider
    policy: ContextPolicy
    retry: RetryPolicy | None
    tools: Mapping[str, Tool]
    schemas: tuple[dict[str, Any], ...]
    prompt: InputEntry | None
    output: OutputType | None
    response_format: Mapping[str, Any] | None
    handoffs: Mapping[str, Handoff]
    plugins: tuple[PluginInstance, ...] = ()

    @property
    def provider_name(self) -> str:
        """The provider's short name."""
        return provider_name(self.provider)

    @property
    def model(self) -> str | None:
        """The model that answers."""
        return model_name(self.provider)

    @property
    def input_guardrails(self) -> list[GuardrailFn]:
        """Vetoes over the input: the agent's own, then its plugins'."""
        own = self.agent.input_guardrails
        return [*own, *(guard for plugin in self.plugins for guard in plugin.input_guardrails)]

    @property
    def output_guardrails(self) -> list[GuardrailFn]:
        """Vetoes over the answer: the agent's own, then its plugins'."""
        own = self.agent.output_guardrails
        return [*own, *(guard for plugin in self.plugins for guard in plugin.output_guardrails)]

    @property
    def view_injectors(self) -> list[ViewInjector]:
        """What is shown to the model in each call beside the view."""
        return [injector for plugin in self.plugins for injector in plugin.view_injectors]


async def activate(run: RunState, agent: Agent[Any]) -> None:
    """Make an agent the one that speaks.

    Raises:
        UserError: The agent is configured in a way that cannot work.
    """
    options = run.options
    own = options.context_policy
    policy = as_policy(agent.context_policy if own is None else own)
    provider = agent.resolve_provider()
    handoffs = [handoff_of(item, source=agent.name) for item in agent.handoffs]
    run.ctx.agent = agent
    plugins = await run.plugins.of(agent, run.ctx)
    run.emitter.listeners = [plugin.hooks for plugin in plugins if plugin.hooks is not None]
    tools = _tools_by_name(agent, _offered(run, agent, handoffs, plugins), policy)
    kind = agent.output_type if options.output_type is None else options.output_type
    output = await output_type(kind)
    takes_schema = output is not None and getattr(provider, "supports_json_schema", False)
    response_format = output.response_format() if output is not None and takes_schema else None
    addendum = output.instructions if output is not None and response_format is None else None
    prompt = await _prompt(run, agent, plugins, addendum)
    run.ctx._system_prompt = prompt  # noqa: SLF001 - the context's writer is the run
    run.active = ActiveAgent(
        agent=agent,
        provider=provider,
        policy=policy,
        retry=options.retry or agent.retry,
        tools=tools,
        schemas=tuple(tool.openai_schema() for tool in tools.values()),
        prompt=InputEntry("system", prompt) if prompt else None,
        output=output,
        response_format=response_format,
        handoffs={handoff.tool_name: handoff for handoff in handoffs},
        plugins=plugins,
    )


async def _prompt(
    run: RunState, agent: Agent[Any], plugins: Iterable[PluginInstance], addendum: str | None
) -> str:
    """Return the system prompt: the agent's, the caller's, its plugins', and the answer's form."""
    pieces = [
        await agent.render_system_prompt(run.ctx, extra=run.options.extra_instructions),
        *(plugin.instructions for plugin in plugins),
        addendum,
    ]
    return "\n\n".join(piece for piece in pieces if piece)


def _offered(
    run: RunState, agent: Agent[Any], handoffs: list[Handoff], plugins: Iterable[PluginInstance]
) -> Iterable[Any]:
    yield from agent.tools
    yield from (handoff_tool(handoff, run.handoff) for handoff in handoffs)
    for plugin in plugins:
        yield from plugin.tools


def _tools_by_name(
    agent: Agent[Any], offered: Iterable[Any], policy: ContextPolicy
) -> dict[str, Tool]:
    """Return all tools of the active agent; its own win over the policy's."""
    tools: dict[str, Tool] = {}
    for tool in offered:
        if not isinstance(tool, Tool):
            message = f"Agent {agent.name!r} lists {tool!r} as a tool."
            raise UserError(message, hint="Decorate the function with @tool.")
        if tool.name in tools:
            message = f"Agent {agent.name!r} has two tools named {tool.name!r}."
            raise UserError(message, hint="Give one of them another name.")
        tools[tool.name] = tool
    for tool in _policy_tools(policy):
        tools.setdefault(tool.name, tool)
    return tools


def _policy_tools(policy: ContextPolicy) -> Iterable[Tool]:
    offered = getattr(policy, "tools", None)
    return offered() if callable(offered) else ()
