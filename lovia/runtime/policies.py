"""Whatever a user hands over as a context policy, as one that the runtime can call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia.context.compact_protocol import CompactPolicyAdapter
from lovia.context.compat import as_result
from lovia.errors import UserError

if TYPE_CHECKING:
    from lovia.context.policy import ContextPolicy

__all__ = ["as_policy", "as_result", "max_reactive_retries", "state_key"]


def as_policy(policy: Any) -> ContextPolicy:
    """Return the policy itself, or an adapter around one of the 0.9 line.

    Raises:
        UserError: It is no policy.
    """
    if callable(getattr(policy, "apply", None)):
        ready: ContextPolicy = policy
        return ready
    if callable(getattr(policy, "compact", None)):
        return CompactPolicyAdapter(policy)
    raise UserError(
        f"{type(policy).__name__} is no context policy.",
        hint="A policy has `async def apply(self, entries, *, ctx)`.",
    )


def max_reactive_retries(policy: Any) -> int:
    """Return how many refusals in a row the policy may answer with a smaller request."""
    if not callable(getattr(policy, "apply_reactive", None)):
        return 0
    return int(getattr(policy, "max_reactive_retries", 1))


def state_key(policy: Any) -> str:
    """Return the name under which a run keeps the memory of policies of this kind."""
    kind = type(getattr(policy, "wrapped", policy))
    return f"{kind.__module__}.{kind.__qualname__}"
