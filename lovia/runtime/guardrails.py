"""Vetoes over a run: functions that look at its input before, or at its answer after."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from lovia.errors import GuardrailTripped

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from lovia.runtime.run_context import RunContext

__all__ = ["GuardrailFn", "GuardrailVerdict", "check_guardrails"]

#: ``None`` or ``False``: acceptable. A text says why not; ``True`` refuses without saying why.
GuardrailVerdict: TypeAlias = "str | bool | None"
#: ``guardrail(value, ctx)``: the transcript so far, or the final output. May raise
#: :class:`~lovia.errors.GuardrailTripped` itself.
GuardrailFn: TypeAlias = (
    "Callable[[Any, RunContext[Any]], GuardrailVerdict | Awaitable[GuardrailVerdict]]"
)


async def check_guardrails(
    guardrails: Iterable[GuardrailFn],
    value: Any,
    ctx: RunContext[Any],
    *,
    where: Literal["input", "output"],
) -> None:
    """Ask each guardrail, in order; what one of them raises fails the run.

    Raises:
        GuardrailTripped: The first one that refuses.
    """
    for guardrail in guardrails:
        try:
            verdict = guardrail(value, ctx)
            if inspect.isawaitable(verdict):
                verdict = await verdict
        except GuardrailTripped as tripped:
            tripped.where = tripped.where or where
            raise
        if verdict:
            reason = verdict if isinstance(verdict, str) else "refused"
            raise GuardrailTripped(f"{where} guardrail: {reason}", where=where)
