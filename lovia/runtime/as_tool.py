"""An agent as a tool of another one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from lovia.runtime.handle import RunHandle
from lovia.runtime.options import RunOptions
from lovia.tools import Tool
from lovia.usage import RunBudget

if TYPE_CHECKING:
    from lovia.retry import RetryPolicy
    from lovia.runtime.agent import Agent
    from lovia.runtime.run_context import RunContext

__all__ = ["agent_as_tool"]

_NO_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "input": {"type": "string", "description": "The task, with everything it needs."}
    },
    "required": ["input"],
    "additionalProperties": False,
}


def agent_as_tool(
    agent: Agent[Any],
    *,
    name: str | None = None,
    description: str | None = None,
    max_turns: int = 50,
    budget: RunBudget | None = None,
    retry: RetryPolicy | None = None,
    context_policy: Any = None,
) -> Tool:
    """Return a tool that runs an agent on a task and gives its answer back.

    The inner run sees the task and nothing else of the conversation. It shares the outer run's
    ``deps`` and cancel token, and its messages are its own: the outer mailbox is not drained by it.
    What it spends counts in the outer run's usage at once, and it ends when the outer run's budget
    is spent; its tool calls are no calls of the outer run.

    Args:
        agent: Who does the task.
        name: The tool's name; ``ask_`` and the agent's name by default.
        description: What the outer model is told.
        max_turns: Turns of one inner run.
        budget: Further limits of each inner run, counted anew every time.
        retry: Instead of the agent's own retry policy.
        context_policy: Instead of the agent's own context policy.
    """

    async def invoke(args: dict[str, Any], ctx: RunContext[Any]) -> Any:
        handle = RunHandle(
            RunOptions(
                agent=agent,
                input=str(args.get("input", "")),
                deps=ctx.deps,
                max_turns=max_turns,
                budget=RunBudget.of_inner_run(budget, ctx.budget, ctx.usage),
                cancel_token=ctx.cancel_token,
                retry=retry,
                context_policy=context_policy,
            )
        )
        handle.context.usage.count_in(ctx.usage)
        return (await handle.result()).output

    return Tool(
        name=name or f"ask_{_NO_NAME.sub('_', agent.name)}",
        description=description or f"Give a task to {agent.name} and get the answer.",
        parameters=_PARAMETERS,
        invoke=invoke,
    )
