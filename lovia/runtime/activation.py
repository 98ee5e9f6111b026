"""The active agent: everything that follows from who speaks now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lovia.errors import UserError
from lovia.providers.base import model_name, provider_name
from lovia.runtime.handoff import Handoff, HandoffSlot, handoff_of, handoff_tool
from lovia.runtime.output import OutputType
from lovia.runtime.policies import as_policy
from lovia.tools import Tool
from lovia.transcript.entries import InputEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lovia.context.policy import ContextPolicy
    from lovia.providers.base import Provider
    from lovia.retry import RetryPolicy
    from lovia.runtime.agent import Agent
    from lovia.runtime.options import RunOptions
    from lovia.runtime.run_context import RunContext

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
        tools: By name: the agent's own, its handoffs, and the policy's.
        schemas: The tools' schemas, as they go into requests.
        prompt: The system entry that leads each request, or ``None``.
        output: What the final answer has to be, or ``None`` for text.
        response_format: The same as requests carry it, where the provider takes it.
        handoffs: The agents that may take over, by the name of the tool.
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

    @property
    def provider_name(self) -> str:
        """The provider's short name."""
        return provider_name(self.provider)

    @property
    def model(self) -> str | None:
        """The model that answers."""
        return model_name(self.provider)


async def activate(
    agent: Agent[Any], options: RunOptions, ctx: RunContext[Any], slot: HandoffSlot
) -> ActiveAgent:
    """Make an agent the one that speaks.

    Raises:
        UserError: The agent is configured in a way that cannot work.
    """
    own = options.context_policy
    policy = as_policy(agent.context_policy if own is None else own)
    provider = agent.resolve_provider()
    handoffs = [handoff_of(item, source=agent.name) for item in agent.handoffs]
    tools = _tools_by_name(agent, handoffs, policy, slot)
    ctx.agent = agent
    kind = agent.output_type if options.output_type is None else options.output_type
    output = OutputType.of(kind)
    takes_schema = output is not None and getattr(provider, "supports_json_schema", False)
    response_format = output.response_format() if output is not None and takes_schema else None
    text = await agent.render_system_prompt(ctx, extra=options.extra_instructions)
    if output is not None and response_format is None:
        text = f"{text}\n\n{output.instructions}".lstrip()
    ctx._system_prompt = text  # noqa: SLF001 - the context's writer is the run
    return ActiveAgent(
        agent=agent,
        provider=provider,
        policy=policy,
        retry=options.retry or agent.retry,
        tools=tools,
        schemas=tuple(tool.openai_schema() for tool in tools.values()),
        prompt=InputEntry("system", text) if text else None,
        output=output,
        response_format=response_format,
        handoffs={handoff.tool_name: handoff for handoff in handoffs},
    )


def _tools_by_name(
    agent: Agent[Any], handoffs: list[Handoff], policy: ContextPolicy, slot: HandoffSlot
) -> dict[str, Tool]:
    """Return all tools of the active agent; its own win over the policy's."""
    tools: dict[str, Tool] = {}
    tool: Any
    for tool in (*agent.tools, *(handoff_tool(handoff, slot) for handoff in handoffs)):
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
