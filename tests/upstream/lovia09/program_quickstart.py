"""An agent with one tool, asked in the three ways that code which is not async has."""

from __future__ import annotations

from lovia import Agent, Runner, tool
from lovia.testing import ScriptedProvider, call, text


@tool
def tide(harbour: str) -> str:
    """Tell when the water is high."""
    return f"High water at {harbour}: 06:40."


def agent() -> Agent:
    """Make an agent whose model looks the tide up and answers."""
    script = [call("tide", {"harbour": "Brest"}), text("It is high at 06:40.")]
    return Agent(
        name="pilot",
        instructions="Look the tide up before you answer.",
        model=ScriptedProvider(script),
        tools=[tide],
    )


def main() -> None:
    """Print the answers, and what a result holds besides."""
    print(agent().run_sync("When is the water high?").output)
    print(Runner.run_sync(agent(), "When is the water high?").output)

    result = Runner.run_sync(agent(), "And today?", max_turns=3)
    print("turns:", result.turns, "answered by:", result.final_agent.name)
    print(
        "usage:", result.usage.input_tokens, result.usage.output_tokens, result.usage.total_tokens
    )
    print("last call:", result.last_input_tokens)
    print([type(entry).__name__ for entry in result.entries])


main()
