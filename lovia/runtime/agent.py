"""An agent: who it is, what it may do, and what it is told. Configuration, no state."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

from lovia.errors import UserError
from lovia.providers.base import ModelSettings
from lovia.retry import RetryPolicy
from lovia.runtime.models import resolve_provider
from lovia.runtime.run_context import TDeps

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Self, Unpack

    from lovia.hooks import AgentHooks
    from lovia.providers.base import Provider
    from lovia.runtime.approvals import ApprovalHandler
    from lovia.runtime.guardrails import GuardrailFn
    from lovia.runtime.handle import RunHandle
    from lovia.runtime.handoff import Handoff
    from lovia.runtime.options import RunInput, RunKeywords
    from lovia.runtime.output import OutputRepairStrategy
    from lovia.runtime.plugins import Plugin
    from lovia.runtime.result import RunResult
    from lovia.runtime.run_context import RunContext
    from lovia.tools import Tool, ToolResultRenderer

__all__ = ["Agent", "InstructionsFn"]

#: Returns a piece of the system prompt for a run; an empty one is left out.
InstructionsFn: TypeAlias = "Callable[[RunContext[Any]], str | Awaitable[str]]"


def _default_policy() -> Any:
    from lovia.context.compacting import CompactingContextPolicy

    return CompactingContextPolicy()


@dataclass(eq=False)
class Agent(Generic[TDeps]):
    """A description of an agent; share it freely, vary it with :meth:`clone`.

    Two agents are the same only when they are one object.

    Attributes:
        name: Its name, in events, telemetry and handoffs.
        instructions: The system prompt, or a function of the run's context.
        model: A provider, ``"vendor:model"``, or a model name on an OpenAI-compatible endpoint.
        tools: What the model may call.
        handoffs: Agents that may take over, or :class:`Handoff` with details.
        settings: Sampling settings.
        retry: When failed model calls are made again; ``None`` never.
        context_policy: What a model call sees of the transcript.
        plugins: Capabilities that bring their own tools, instructions, hooks and guardrails.
        hooks: Observers of events while the agent is active.
        default_tool_retries: Further attempts of a failed tool that does not say itself.
        default_tool_timeout: Seconds for one attempt of a tool that does not say itself.
        max_tool_output_chars: Characters of a tool result that the transcript keeps, for tools that
            do not say themselves; ``None`` keeps everything.
        tool_result_renderer: Turns returned values into text, for tools that have none themselves.
        output_type: What the final answer has to be; anything that pydantic can validate.
        output_repair: Whether an answer of another form is asked for again (once), or a strategy.
        input_guardrails: Look at the transcript before the first model call, and may refuse it.
        output_guardrails: Look at the final output, and may refuse it.
        approval_handler: Decides on calls of tools that need approval when nobody who listens to
            the run has.
    """

    name: str
    instructions: str | InstructionsFn = ""
    model: str | Provider | None = None
    tools: list[Tool] = field(default_factory=list)
    handoffs: list[Agent[Any] | Handoff] = field(default_factory=list)
    settings: ModelSettings = field(default_factory=ModelSettings)
    retry: RetryPolicy | None = field(default_factory=RetryPolicy)
    context_policy: Any = field(default_factory=_default_policy)
    plugins: list[Plugin] = field(default_factory=list)
    hooks: AgentHooks | None = None
    default_tool_retries: int = 0
    default_tool_timeout: float | None = None
    max_tool_output_chars: int | None = 200_000
    tool_result_renderer: ToolResultRenderer | None = None
    output_type: Any = str
    output_repair: bool | OutputRepairStrategy = True
    input_guardrails: list[GuardrailFn] = field(default_factory=list)
    output_guardrails: list[GuardrailFn] = field(default_factory=list)
    approval_handler: ApprovalHandler | None = None
    _fragments: tuple[InstructionsFn, ...] = field(default=(), repr=False)

    def resolve_provider(self) -> Provider:
        """Return the provider behind :attr:`model`; raises ``UserError`` when there is none."""
        return resolve_provider(self.model)

    def instruction(self, fn: InstructionsFn) -> InstructionsFn:
        """Add a piece to the system prompt, rendered anew when the agent becomes active.

        This edits the agent; clones made earlier stay as they are.
        """
        self._fragments = (*self._fragments, fn)
        return fn

    def with_instructions(self, fn: InstructionsFn) -> Self:
        """Return a clone with one more piece of system prompt."""
        return replace(self, _fragments=(*self._fragments, fn))

    async def render_system_prompt(
        self, ctx: RunContext[Any], *, extra: str | InstructionsFn | None = None
    ) -> str:
        """Return the system prompt: instructions, pieces and ``extra``, a blank line between them.

        Raises:
            UserError: A function returned something else than text.
        """
        pieces = [
            await _rendered(source, ctx, self.name)
            for source in (self.instructions, *self._fragments, extra)
        ]
        return "\n\n".join(piece for piece in pieces if piece)

    def as_tool(self, **options: Any) -> Tool:
        """Return the agent as a tool of another one; see :func:`agent_as_tool` for the options."""
        from lovia.runtime.as_tool import agent_as_tool

        return agent_as_tool(self, **options)

    def clone(self, **overrides: Any) -> Self:
        """Return a copy with some fields replaced."""
        return replace(self, **overrides)

    async def run(self, input: RunInput, **kwargs: Unpack[RunKeywords]) -> RunResult:
        """Run to the end; see :meth:`lovia.Runner.run`."""
        from lovia.runtime.runner import Runner

        return await Runner.run(self, input, **kwargs)

    def run_sync(self, input: RunInput, **kwargs: Unpack[RunKeywords]) -> RunResult:
        """Run to the end from code that is not async; see :meth:`lovia.Runner.run_sync`."""
        from lovia.runtime.runner import Runner

        return Runner.run_sync(self, input, **kwargs)

    def stream(self, input: RunInput, **kwargs: Unpack[RunKeywords]) -> RunHandle:
        """Start a run and watch it; see :meth:`lovia.Runner.stream`."""
        from lovia.runtime.runner import Runner

        return Runner.stream(self, input, **kwargs)


async def _rendered(source: str | InstructionsFn | None, ctx: RunContext[Any], agent: str) -> str:
    """Return instructions as text.

    Raises:
        UserError: A function returned something else; the message names the agent.
    """
    text: Any = source(ctx) if callable(source) else source
    if inspect.isawaitable(text):
        text = await text
    if text is not None and not isinstance(text, str):
        message = f"The instructions of agent {agent!r} are {type(text).__name__}, not text."
        raise UserError(message, hint="Return a str from instruction functions.")
    return text or ""
