"""The demo's pass, as Jaeger shows it: through our Collector, with our sampling."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from lovia import Agent, Runner
from lovia.testing import ScriptedProvider, text
from lovia_otel import configure, names, read_recording
from tests.backends.waiting import eventually
from tests.dashboards import traffic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.backends.stack import Collector, Jaeger
    from tests.receiver import Receiver


@dataclass(frozen=True)
class Trace:
    """A trace as Jaeger's HTTP API gives it."""

    spans: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, answer: dict[str, Any]) -> Trace:
        """Return the trace of an answer."""
        return cls({span["spanID"]: span for span in answer["spans"]})

    def named(self, word: str) -> list[dict[str, Any]]:
        """Return the spans whose name begins with a word."""
        return [span for span in self.spans.values() if span["operationName"].split()[0] == word]

    def parents(self, span: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the spans above a span, the nearest first."""
        while (above := _parent(span)) is not None:
            span = self.spans[above]
            yield span

    def above(self, span: dict[str, Any]) -> list[str]:
        """Return the first words of the names of the spans above a span, the nearest first."""
        return [above["operationName"].split()[0] for above in self.parents(span)]


def _parent(span: dict[str, Any]) -> str | None:
    above = [ref["spanID"] for ref in span["references"] if ref["refType"] == "CHILD_OF"]
    return above[0] if above else None


def _tags(span: dict[str, Any]) -> dict[str, Any]:
    return {tag["key"]: tag["value"] for tag in span["tags"]}


@pytest.fixture(scope="module")
def sent(
    collector: Collector, tmp_path_factory: pytest.TempPathFactory, _offline_vocabulary: None
) -> Any:
    """What the demo sent to the Collector, as a file holds it."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        # All in one piece, since the Collector of the tests decides after a second.
        patch.setenv("OTEL_BSP_SCHEDULE_DELAY", "60000")
        with configure(collector.url, "pass", file=folder / "trace.jsonl", set_global=False):
            anyio.run(traffic.demo, folder)
    return read_recording(folder / "trace.jsonl")


@pytest.fixture(scope="module")
def trace(sent: Any, jaeger: Jaeger) -> Trace:
    """The demo's trace, found in Jaeger."""
    whole = len(sent.spans)
    found = eventually(
        lambda: jaeger.traces("pass"), lambda traces: sum(len(t["spans"]) for t in traces) >= whole
    )
    (answer,) = found
    return Trace.read(answer)


def test_jaeger_has_every_span_that_was_sent(sent: Any, trace: Trace) -> None:
    """None is missing and none is there twice; a refused request keeps the trace."""
    names_sent = Counter(span.name for span in sent.spans)
    assert Counter(span["operationName"] for span in trace.spans.values()) == names_sent


def test_the_run_is_the_root(trace: Trace) -> None:
    """One span has nothing above it, and everything else is below it."""
    (root,) = [span for span in trace.spans.values() if _parent(span) is None]
    assert root["operationName"] == "invoke_agent explorer"
    below = [span for span in trace.spans.values() if span is not root]
    assert all(trace.above(span)[-1] == "invoke_agent" for span in below)


def test_a_pass_is_above_its_stages_and_they_above_their_folds(trace: Trace) -> None:
    """A pass belongs to a turn, a stage to a pass, a chunk to a stage, its model call to it."""
    passes, stages = trace.named(names.SPAN_PASS), trace.named(names.SPAN_STAGE)
    chunks = trace.named(names.SPAN_FOLD)
    assert passes
    assert stages
    assert chunks
    assert {trace.above(span)[0] for span in passes} == {names.SPAN_TURN}
    assert {trace.above(span)[0] for span in stages} == {names.SPAN_PASS}
    assert {trace.above(span)[0] for span in chunks} == {names.SPAN_STAGE}
    for chat in trace.named("chat"):
        summarizes = _tags(chat)[names.INFERENCE_PURPOSE] == names.PURPOSE_SUMMARIZE
        above = names.SPAN_FOLD if summarizes else names.SPAN_TURN
        assert trace.above(chat)[0] == above


def test_the_numbers_of_a_pass_arrive(sent: Any, trace: Trace) -> None:
    """Jaeger shows the sizes before and after, and the outcome, as they were sent."""
    keys = (names.COMPACTION_TOKENS_BEFORE, names.COMPACTION_TOKENS_AFTER, names.COMPACTION_OUTCOME)
    shown = [[_tags(span).get(key) for key in keys] for span in trace.named(names.SPAN_PASS)]
    was = [
        [span.attributes.get(key) for key in keys]
        for span in sent.spans
        if span.name == names.SPAN_PASS
    ]
    assert sorted(map(repr, shown)) == sorted(map(repr, was))


def test_jaeger_finds_passes_by_what_the_dashboard_asks(trace: Trace, jaeger: Jaeger) -> None:
    """A search for passes that a refused request set off finds the demo's trace."""
    wanted = f'{{"{names.COMPACTION_TRIGGER}":"{names.TRIGGER_OVERFLOW}"}}'
    found = jaeger.traces("pass", operation=names.SPAN_PASS, tags=wanted)
    assert [Trace.read(answer).spans.keys() for answer in found] == [trace.spans.keys()]


def test_log_events_reach_their_store_with_their_trace(
    trace: Trace, sent: Any, log_store: Receiver
) -> None:
    """What a pass logged is stored, under the ids of the pass's span."""
    passes = {span["spanID"] for span in trace.named(names.SPAN_PASS)}
    events = eventually(
        lambda: [
            record
            for record in log_store.logs()
            if record.event_name == names.EVENT_CONTEXT_COMPACTED and record.span_id.hex() in passes
        ]
    )
    assert {record.span_id.hex() for record in events} <= passes


async def _work(folder: Path) -> None:
    """Make sixty runs that are of no interest, and five that fail."""
    for _ in range(60):
        await Runner.run(Agent(name="dull", model=ScriptedProvider([text("done")])), "go")
    for _ in range(5):
        await traffic.failed(folder)


def test_sampling_keeps_what_failed(collector: Collector, jaeger: Jaeger, folder: Path) -> None:
    """Every failed run is kept, and of ordinary runs some are not."""
    with configure(collector.url, "sampled", set_global=False):
        anyio.run(_work, folder)
    failed = {"service": "sampled", "operation": "invoke_agent unlucky"}
    eventually(lambda: len(jaeger.traces(**failed)), lambda count: count == 5)
    dull = jaeger.traces("sampled", operation="invoke_agent dull")
    assert len(dull) < 60  # a tenth on average; that all are kept happens to nobody
