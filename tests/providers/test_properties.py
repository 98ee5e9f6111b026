"""What holds over every wire, whatever a conversation is like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia import ModelSettings
from lovia.providers.openai import OpenAIResponsesProvider
from tests.properties.histories import Turn, conversations, joined
from tests.providers.support import WIRES, Wire, tools
from tests.providers.wire import chat_wire, messages_wire, responses_wire
from tests.providers.wire.strict import RefusedError

if TYPE_CHECKING:
    from lovia.providers.sdk import SDKProvider
    from lovia.transcript import TranscriptEntry

OFFERED = tools("read", "search")


def provider_of(wire: Wire) -> SDKProvider:
    """Return an adapter; nothing is sent in these tests."""
    return wire.make(wire.model, base_url="http://127.0.0.1:9/v1", api_key="k")


def body_of(
    provider: SDKProvider, entries: list[TranscriptEntry], offered: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the request that an adapter would send."""
    prepared = provider._prepare(entries, offered, None, ModelSettings())
    arguments = dict(prepared.arguments)
    rest = arguments.pop("extra_body")
    return {**arguments, **rest}


def check(wire: Wire, body: dict[str, Any]) -> None:
    """Refuse what the strict server would refuse."""
    if wire.make is OpenAIResponsesProvider:
        responses_wire.check(body)
    elif wire.name == "messages":
        messages_wire.check(body)
    else:
        chat_wire.check(body, official=wire.official)


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
@given(turns=conversations(), offered=st.booleans(), dropped=st.integers(0, 4))
def test_any_conversation_is_accepted(
    wire: Wire, turns: list[Turn], offered: bool, dropped: int
) -> None:
    """A strict server takes any conversation: odd ids and texts, dead calls, late results."""
    entries = joined(turns)[dropped:]
    body = body_of(provider_of(wire), entries, OFFERED if offered else [])
    try:
        check(wire, body)
    except RefusedError as error:
        pytest.fail(str(error))


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
@given(turns=conversations(), more=conversations(max_turns=3))
def test_a_request_only_grows(wire: Wire, turns: list[Turn], more: list[Turn]) -> None:
    """What is said next leaves what was sent alone, but for the last words before it."""
    provider = provider_of(wire)
    key = "input" if wire.name == "responses" else "messages"
    before = unmarked(body_of(provider, joined(turns), OFFERED)[key])
    after = unmarked(body_of(provider, joined([*turns, *more]), OFFERED)[key])
    settled = before[:-2]  # a system message may stand behind the user's last one
    assert after[: len(settled)] == settled


def unmarked(value: Any) -> Any:
    """Leave out the marks for the cache, which move."""
    if isinstance(value, dict):
        return {k: unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [unmarked(item) for item in value] if isinstance(value, list) else value
