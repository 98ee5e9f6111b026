"""Errors: one family, each with a hint that its text shows."""

from __future__ import annotations

import asyncio

import lovia
from lovia import Agent, LoviaError, Runner
from lovia.testing import ScriptedProvider, text

NAMES = [
    "UserError",
    "ProviderError",
    "ContextOverflowError",
    "ToolError",
    "InvalidToolArguments",
    "MaxTurnsExceeded",
    "BudgetExceeded",
    "RunCancelled",
    "OutputValidationError",
    "GuardrailTripped",
]


async def main() -> None:
    """Make each, and catch some that runs raise."""
    for name in NAMES:
        kind = getattr(lovia, name)
        error = kind("It broke.", hint="Mend it.")
        shown = str(error)
        print(
            name,
            issubclass(kind, LoviaError),
            error.hint,
            "It broke." in shown,
            "Mend it." in shown,
        )
        assert "hint" not in str(kind("It broke.")).lower()
    print(str(LoviaError()), LoviaError("plain").hint)

    error = lovia.ProviderError("no", vendor="v", model="m", status_code=429, retryable=True)
    print(error.vendor, error.model, error.status_code, error.retryable)
    overflow = lovia.ContextOverflowError("too long", reported_window=65_536)
    print(overflow.reported_window)
    invalid = lovia.OutputValidationError("no", raw="abc", output_type_name="Price")
    print(invalid.raw, invalid.output_type_name)

    ping = Agent(name="ping", model=ScriptedProvider([text("x")]))
    wrong = [
        Agent(name="no model"),
        Agent(name="odd model", model="nobody:nothing"),
        ping.clone(tools=[ping.as_tool(name="same"), ping.as_tool(name="same")]),
        ping.clone(handoffs=[ping, ping.clone()]),
    ]
    for agent in wrong:
        try:
            await Runner.run(agent, "?")
        except LoviaError as raised:
            print(type(raised).__name__)
        else:
            print("ran")


asyncio.run(main())
