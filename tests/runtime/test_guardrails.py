"""Vetoes over input and output."""

from __future__ import annotations

from typing import Any

import pytest

from lovia import GuardrailTripped, InputEntry, Runner
from lovia.testing import call, text
from tests.runtime.support import events_of, kinds, provider_of, scripted

pytestmark = pytest.mark.anyio


async def accept(_value: Any, _ctx: Any) -> None:
    """Accept."""


def refuse(_value: Any, _ctx: Any) -> str:
    """Refuse with a reason."""
    return "too rude"


async def refuse_silently(_value: Any, _ctx: Any) -> bool:
    """Refuse without one."""
    return True


def trip(_value: Any, _ctx: Any) -> None:
    """Refuse by raising."""
    raise GuardrailTripped("tripped")


@pytest.mark.parametrize(
    ("guardrail", "message"),
    [(refuse, "too rude"), (refuse_silently, "refused"), (trip, "tripped")],
)
@pytest.mark.parametrize("where", ["input", "output"])
async def test_a_veto_fails_the_run(guardrail: Any, message: str, where: str) -> None:
    """A text, True or an exception refuses; the error says what and where."""
    fields: dict[str, Any] = {f"{where}_guardrails": [accept, guardrail]}
    agent = scripted(text("ok"), **fields)
    with pytest.raises(GuardrailTripped, match=message) as caught:
        await Runner.run(agent, "go")
    assert caught.value.where == where
    assert len(provider_of(agent).requests) == (where == "output")


async def test_guardrails_see_what_they_judge() -> None:
    """Input guardrails see the transcript, output guardrails the typed output, both the context."""
    seen: list[Any] = []
    agent = scripted(
        text("7"),
        output_type=int,
        input_guardrails=[lambda value, ctx: seen.append((value, ctx.turn))],
        output_guardrails=[lambda value, ctx: seen.append((value, ctx.turn))],
    )
    await Runner.run(agent, "go")
    assert seen == [([InputEntry("user", "go")], 0), (7, 1)]


async def test_the_answering_agent_s_guardrails_judge_the_answer() -> None:
    """After a handoff the target's output guardrails count, not those of the first agent."""
    other = scripted(text("ok"), name="b", output_guardrails=[refuse], input_guardrails=[trip])
    agent = scripted(call("transfer_to_b"), handoffs=[other], output_guardrails=[trip])
    with pytest.raises(GuardrailTripped, match="too rude"):
        await Runner.run(agent, "go")


async def test_a_veto_is_told_once() -> None:
    """A refused answer ends the stream after its turn with the only RunFailed."""
    seen = await events_of(Runner.stream(scripted(text("ok"), output_guardrails=[refuse]), "go"))
    assert kinds(seen)[-2:] == ["TurnEnded", "RunFailed"]
