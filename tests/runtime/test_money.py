"""What compaction saves in money, against the same run that was really left alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest

from lovia import Agent, AutoSummaryStage, CompactingContextPolicy, LLMSummarizer, Runner, tool
from lovia.testing import ScriptedProvider, call, text
from lovia.tokens import ByteCounter
from lovia.usage import Usage
from lovia_otel import Price, PriceTable, names
from lovia_otel.prices.current import replace_prices, restore_prices
from tests.runtime.support import Untouched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lovia import TranscriptEntry
    from lovia.testing import AssistantTurn, ScriptedRequest
    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio

TABLE: Final = PriceTable("USD", {"cached": {"m": Price(10, 40, 1, 12)}})
WINDOW: Final = 400_000  # tokens; the history stays below it, so that nothing is capped
COUNTER: Final = ByteCounter()
SUMMARIES: Final = {"stages": [AutoSummaryStage(LLMSummarizer())]}


class Cache:
    """A provider's prompt cache: it serves what a request has in common with those before it.

    Args:
        works: Whether there is one.
        writes: Whether storing is charged for.
    """

    def __init__(self, *, works: bool = True, writes: bool = False) -> None:
        self._works, self._writes = works, writes
        self._held: list[list[TranscriptEntry]] = []

    def usage(self, request: ScriptedRequest, turn: AssistantTurn) -> Usage:
        """Report a call, and keep its prompt."""
        spent = Usage(input_tokens=request.tokens, output_tokens=50)
        overhead = request.tokens - COUNTER.entries(request.entries)
        if self._works:
            shared = max((_common(held, request.entries) for held in self._held), default=0)
            if shared:
                prefix = COUNTER.entries(request.entries[:shared])
                spent.cache_read_tokens = prefix + overhead
            if self._writes:
                spent.cache_write_tokens = request.tokens - spent.cache_read_tokens
            self._held.append(request.entries)
        return spent


def _common(one: list[TranscriptEntry], other: list[TranscriptEntry]) -> int:
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


@tool
def read(page: int) -> str:
    """Read a page."""
    return f"page {page}: " + "all sorts of things. " * (300 if page % 5 else 1_500)


@pytest.fixture(autouse=True)
def _prices() -> Iterator[None]:
    mine, before = replace_prices(TABLE)
    yield
    restore_prices(mine, before)


async def run(policy: Any, cache: Cache) -> None:
    """Let an agent read twenty pages."""
    reads = (call("read", {"page": number}) for number in range(20))
    script = [replace(turn, content="What was on that page: a lot. " * 40) for turn in reads]
    provider = ScriptedProvider(
        [*script, text("Done.")],
        name="cached",
        model="m",
        counter=COUNTER,
        usage=cache.usage,
        summarize="## Goal\nread all pages\n## State\nhalf of them are read\n",
    )
    agent: Agent[Any] = Agent(
        name="reader", instructions="Read.", model=provider, tools=[read], context_policy=policy
    )
    await Runner.run(agent, "Read the book.", max_turns=40)


class Alone(Untouched):
    """A policy that changes nothing, in requests that offer the same tools."""

    def tools(self) -> list[Any]:
        """Return the tools of the policy that it is compared with."""
        return list(compacting().tools())


def compacting(**settings: Any) -> CompactingContextPolicy:
    """Return a policy that compacts often, far below the window."""
    settings = {
        "trigger_tokens": 12_000,
        "keep_recent_entries": 8,
        "large_tool_result_chars": 20_000,
        **settings,
    }
    return CompactingContextPolicy(WINDOW, token_counter=COUNTER, **settings)


def net(telemetry: Telemetry) -> float:
    """Return what the numbers say is left of the savings."""
    losses = (names.COST_INFLATED, names.COST_SUMMARY, names.COST_CACHE_LOST)
    return telemetry.total(names.COST_SAVED) - sum(map(telemetry.total, losses))


def cost(telemetry: Telemetry) -> float:
    """Return what all model calls cost."""
    return telemetry.total(names.COST_REQUEST) + telemetry.total(names.COST_SUMMARY)


@pytest.mark.parametrize(
    "cache", [{"works": False}, {}, {"writes": True}], ids=["none", "reads", "writes"]
)
@pytest.mark.parametrize(
    "settings",
    [
        {"max_entries": None},
        {"large_tool_result_chars": 5_000},
        {"max_entries": 12, "keep_recent_entries": 6},
    ],
    ids=["summaries", "arrivals", "snips"],
)
async def test_net_is_the_difference_to_a_run_that_was_left_alone(
    telemetry: Telemetry, settings: dict[str, Any], cache: dict[str, bool]
) -> None:
    """Saved - inflated - summaries - lost is what the same run costs more without compaction."""
    await run(Alone(), Cache(**cache))
    alone = cost(telemetry)
    assert net(telemetry) == 0
    await run(compacting(**settings), Cache(**cache))
    told = net(telemetry)
    compacted = cost(telemetry) - alone
    assert telemetry.points(names.METRIC_COMPACTION_DURATION), "nothing was compacted"
    assert told == pytest.approx(alone - compacted, rel=1e-6)


async def test_each_span_has_its_own_money(telemetry: Telemetry) -> None:
    """A call has its cost, a pass that of its summaries, a run both; all in one currency."""
    await run(compacting(**SUMMARIES), Cache())
    spans = telemetry.exported.get_finished_spans()
    found: dict[str, list[Any]] = {}
    for span in spans:
        found.setdefault(span.name.split()[0], []).append(dict(span.attributes or {}))
    summaries = [chat for chat in found["chat"] if names.COST_SUMMARY in chat]
    turns = [chat for chat in found["chat"] if names.COST_REQUEST in chat]
    assert len(summaries) + len(turns) == len(found["chat"])
    assert all(names.COST_SAVED not in chat for chat in summaries)
    (whole,) = found["invoke_agent"]
    of_turns = sum(chat[names.COST_REQUEST] for chat in turns)
    of_summaries = sum(chat[names.COST_SUMMARY] for chat in summaries)
    assert of_summaries > 0
    assert whole[names.COST_REQUEST] == pytest.approx(of_turns)
    assert whole[names.COST_SUMMARY] == pytest.approx(of_summaries)
    passes = [
        told[names.COST_SUMMARY] for told in found["compact_context"] if names.COST_SUMMARY in told
    ]
    assert sum(passes) == pytest.approx(of_summaries)
    event = dict(telemetry.all_events(names.EVENT_CONTEXT_COMPACTED)[-1].attributes or {})
    assert event[names.COST_SUMMARY] == passes[-1]
    assert {told[names.COST_CURRENCY] for told in (whole, *turns, *summaries)} == {"USD"}
    lost = [chat for chat in turns if chat[names.CONTEXT_CACHE_LOST_TOKENS]]
    assert lost
    assert all(chat[names.CONTEXT_VIEW] == "compacted" for chat in lost)
    for chat in lost:
        price = chat[names.COST_CACHE_LOST] / chat[names.CONTEXT_CACHE_LOST_TOKENS]
        assert price == pytest.approx((10 - 1) / 1_000_000)


async def test_a_model_without_a_price_has_no_money(
    telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    """Its calls are counted, and said once; nothing is guessed."""
    mine, before = replace_prices(PriceTable("USD", {"cached": {"other": Price(1, 1, 1, 1)}}))
    await run(compacting(), Cache())
    restore_prices(mine, before)
    calls = [span for span in telemetry.exported.get_finished_spans() if span.name == "chat m"]
    assert telemetry.total(names.METRIC_UNPRICED_CALLS) == len(calls) > 20
    assert [line for line in caplog.messages if "no price" in line] == [
        "no price is known of 'cached m': its calls have no cost"
    ]
    for name in (names.COST_REQUEST, names.COST_SUMMARY, names.COST_SAVED, names.COST_CACHE_LOST):
        assert telemetry.points(name) == []
        assert not any(name in (span.attributes or {}) for span in calls)
