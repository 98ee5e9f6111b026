"""The way in: run an agent, and wait for it or watch it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import anyio

from lovia.cancellation import CancelToken
from lovia.providers.clients import clients_closed
from lovia.runtime.handle import RunHandle
from lovia.runtime.options import RunOptions
from lovia.runtime.steering import Mailbox

if TYPE_CHECKING:
    from lovia.retry import RetryPolicy
    from lovia.runtime.agent import Agent, InstructionsFn
    from lovia.runtime.checkpoint import CheckpointOptions
    from lovia.runtime.options import RunInput, RunKeywords
    from lovia.runtime.result import RunResult
    from lovia.stores import Session
    from lovia.usage import RunBudget

__all__ = ["Runner"]


class Runner:
    """Runs agents. It holds no state: every run has its own."""

    @staticmethod
    def stream(  # noqa: PLR0913 - one keyword a setting of the run
        agent: Agent[Any],
        input: RunInput,
        *,
        deps: Any = None,
        output_type: Any = None,
        extra_instructions: str | InstructionsFn | None = None,
        max_turns: int = 50,
        budget: RunBudget | None = None,
        cancel_token: CancelToken | None = None,
        mailbox: Mailbox | None = None,
        retry: RetryPolicy | None = None,
        context_policy: Any = None,
        session: Session | None = None,
        session_id: str | None = None,
        checkpoint: CheckpointOptions | None = None,
    ) -> RunHandle:
        """Return a handle on a run: iterate it for events, await its result.

        Nothing here raises for bad arguments; like every failure they end the run's stream with
        ``RunFailed`` and are raised by ``handle.result()``.

        Args:
            agent: Who speaks first.
            input: A text, the parts of one message, messages, or transcript entries.
            deps: Handed to tools, hooks and instructions as ``ctx.deps``.
            output_type: What the answer has to be, instead of the agents' own output type.
            extra_instructions: Added to the system prompt of every agent of the run.
            max_turns: Model answers that the run may take.
            budget: Limits on tokens, tool calls and time; one instance for one run.
            cancel_token: Asks the run to stop, from any task or thread.
            mailbox: Takes messages for the running agent; one instance for one run.
            retry: Instead of the agents' own retry policy.
            context_policy: Instead of the agents' own context policy.
            session: Keeps the conversation: the run sees what was said before in it, and adds its
                own part when it completes.
            session_id: Names the conversation, in the session, in archives and in telemetry.
            checkpoint: Saves the run as it goes, and resumes it when it is asked for again.
        """
        named: dict[str, Any] = {}
        if checkpoint is not None and (checkpoint.run_id or checkpoint.resume_from):
            named["run_id"] = checkpoint.resolved_run_id
        return RunHandle(
            RunOptions(
                agent=agent,
                input=input,
                deps=deps,
                output_type=output_type,
                extra_instructions=extra_instructions,
                max_turns=max_turns,
                budget=budget,
                cancel_token=cancel_token or CancelToken(),
                mailbox=Mailbox() if mailbox is None else mailbox,
                retry=retry,
                context_policy=context_policy,
                session=session,
                session_id=session_id,
                checkpoint=checkpoint,
                **named,
            )
        )

    @classmethod
    async def run(
        cls, agent: Agent[Any], input: RunInput, **kwargs: Unpack[RunKeywords]
    ) -> RunResult:
        """Run to the end and return the result.

        Args:
            agent: Who speaks first.
            input: A text, the parts of one message, messages, or transcript entries.
            kwargs: As for :meth:`stream`.

        Raises:
            UserError: Something was configured in a way that cannot work.
            GuardrailTripped: A guardrail refused the input or the answer.
            OutputValidationError: The answer does not have the requested type.
            ProviderError: The model could not be asked.
            MaxTurnsExceeded: All turns were made without an answer.
            BudgetExceeded: The budget is spent.
            RunCancelled: A stop was requested.
            RunSuspended: The run waits for approval and was saved.
            CheckpointError: The saved run cannot be gone on with.
        """
        return await cls.stream(agent, input, **kwargs).result()

    @classmethod
    def run_sync(
        cls, agent: Agent[Any], input: RunInput, **kwargs: Unpack[RunKeywords]
    ) -> RunResult:
        """Run to the end from code that is not async; see :meth:`run`.

        It has an event loop of its own; connections that providers open on it are closed with it.
        """

        async def alone() -> RunResult:
            async with clients_closed():
                return await cls.run(agent, input, **kwargs)

        return anyio.run(alone)
