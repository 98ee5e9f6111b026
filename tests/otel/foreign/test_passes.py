"""A foreign compaction is recorded as a pass, whatever the policy does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import context as otel_context
from opentelemetry.trace import StatusCode, get_current_span

from lovia_otel import names
from lovia_otel.foreign.passes import ObservedPass, PassAbout, PassSpent
from lovia_otel.foreign.sizes import Size, size_by
from lovia_otel.spans.compaction import current_pass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.otel.conftest import Telemetry

ABOUT = PassAbout(policy="Trimmer", agent="a", model="m", window_tokens=100)
WORDS = ["one two", "three", "four five six"]


def _words(messages: Sequence[str]) -> int:
    return sum(len(text.split()) for text in messages)


def _observe(before: list[str], after: list[str], **options: Any) -> None:
    with ObservedPass(before, measure=size_by(_words), **{"about": ABOUT, **options}) as observed:
        observed.settle(after)


@pytest.mark.parametrize(
    ("after", "outcome", "freed"),
    [
        (WORDS[1:], names.COMPACTED, 2),
        ([*WORDS, "a summary of all of it"], names.INFLATED, -6),
        (["two one", *WORDS[1:]], names.COMPACTED, 0),
    ],
    ids=["smaller", "larger", "rewritten"],
)
def test_the_outcome_follows_from_sizes_and_identity(
    telemetry: Telemetry, after: list[str], outcome: str, freed: int
) -> None:
    """Larger is inflated, everything else that differs is compacted."""
    _observe(WORDS, after)
    attributes = telemetry.attributes(names.SPAN_PASS)
    assert attributes[names.COMPACTION_OUTCOME] == outcome
    assert attributes[names.COMPACTION_TOKENS_FREED] == freed
    assert attributes[names.COMPACTION_TOKENS_BEFORE] == 6
    assert attributes[names.TOKENS_SOURCE] == "tokenizer"
    assert telemetry.total(names.METRIC_INFLATED_TOKENS) == max(0, -freed)


def test_an_exception_makes_the_pass_failed_and_goes_on(telemetry: Telemetry) -> None:
    """What the policy raises leaves as it is; the span is an error."""
    raised = RuntimeError("no")
    with pytest.raises(RuntimeError) as caught, ObservedPass(WORDS, about=ABOUT):
        raise raised
    assert caught.value is raised
    span = telemetry.spans[names.SPAN_PASS]
    assert span.status.status_code is StatusCode.ERROR
    attributes = telemetry.attributes(names.SPAN_PASS)
    assert attributes[names.COMPACTION_OUTCOME] == names.FAILED
    assert attributes[names.ERROR_TYPE] == "RuntimeError"


def test_a_list_edited_in_place_is_a_change(telemetry: Telemetry) -> None:
    """What the policy was given is noted before it can edit it."""
    messages = list(WORDS)
    with ObservedPass(messages, about=ABOUT) as observed:
        del messages[0]
        observed.settle(messages)
    attributes = telemetry.attributes(names.SPAN_PASS)
    assert attributes[names.COMPACTION_OUTCOME] == names.COMPACTED
    assert attributes[names.COMPACTION_ENTRIES_BEFORE] == 3
    assert attributes[names.COMPACTION_ENTRIES_AFTER] == 2


def test_a_lazy_pass_that_does_nothing_leaves_no_span(telemetry: Telemetry) -> None:
    """A policy that is asked at each call shows up when it acts, and only then."""
    _observe(WORDS, WORDS, lazy=True)
    assert not telemetry.spans
    _observe(WORDS, WORDS[1:], lazy=True)
    assert telemetry.attributes(names.SPAN_PASS)[names.COMPACTION_OUTCOME] == names.COMPACTED


def test_a_stage_opens_a_lazy_pass_around_itself(telemetry: Telemetry) -> None:
    """The stage's span is below the pass, which starts before it and ends after it."""
    with ObservedPass(WORDS, about=ABOUT, lazy=True) as observed:
        with observed.stage("snip") as stage:
            stage.settle(outcome=names.APPLIED)
        assert not get_current_span().get_span_context().is_valid
        observed.settle(WORDS[1:])
    whole, part = telemetry.spans[names.SPAN_PASS], telemetry.spans[f"{names.SPAN_STAGE} snip"]
    assert part.parent is not None
    assert part.parent.span_id == whole.get_span_context().span_id  # type: ignore[union-attr]
    assert whole.start_time <= part.start_time  # type: ignore[operator]
    assert part.end_time <= whole.end_time  # type: ignore[operator]
    assert telemetry.attributes(names.SPAN_PASS)[names.COMPACTION_STAGES] == ("snip",)


def test_a_pass_without_anything_to_do_leaves_no_span(telemetry: Telemetry) -> None:
    """Being asked and changing nothing is no pass; the sizes of the call are told all the same."""
    about = PassAbout(policy="Trimmer", window_tokens=5, per_call=True)
    _observe(WORDS, list(WORDS), about=about)
    assert not telemetry.spans
    assert not telemetry.events
    assert telemetry.points(names.METRIC_COMPACTION_DURATION) == []
    assert telemetry.total(names.METRIC_REQUEST_SIZE) == 6


def test_what_begins_inside_a_pass_is_below_it(telemetry: Telemetry) -> None:
    """Work in vain is a pass that did nothing, around the work, in the trace that is under way."""
    tracer = telemetry.tracer_provider.get_tracer("app")
    with tracer.start_as_current_span("app"), ObservedPass(WORDS, about=ABOUT) as observed:
        with tracer.start_as_current_span("ask a model"):
            assert current_pass() is not None
        observed.settle(WORDS)
    app, asked = telemetry.spans["app"], telemetry.spans["ask a model"]
    whole = telemetry.spans[names.SPAN_PASS]
    assert asked.parent == whole.get_span_context()
    assert whole.parent == app.get_span_context()
    assert whole.start_time <= asked.start_time  # type: ignore[operator]
    assert telemetry.attributes(names.SPAN_PASS)[names.COMPACTION_OUTCOME] == names.NOOP
    assert names.EVENT_COMPACTION_STARTED in telemetry.events
    assert not get_current_span().get_span_context().is_valid


@pytest.mark.parametrize(
    "write",
    [
        lambda span: span.set_attribute("k", 1),
        lambda span: span.set_attributes({"k": 1}),
        lambda span: span.add_event("e"),
        lambda span: span.add_link(span.get_span_context()),
        lambda span: span.set_status(StatusCode.ERROR),
        lambda span: span.record_exception(ValueError("no")),
    ],
    ids=["attribute", "attributes", "event", "link", "status", "exception"],
)
def test_what_a_policy_writes_on_its_span_is_there(
    telemetry: Telemetry, write: Callable[[Any], None]
) -> None:
    """Code that writes on the current span writes on the pass, as if it had been open all along."""
    with ObservedPass(WORDS, about=ABOUT) as observed:
        assert get_current_span().is_recording()
        write(get_current_span())
        observed.settle(WORDS)
    span = telemetry.spans[names.SPAN_PASS]
    written = [
        (span.attributes or {}).get("k") == 1,
        *(span.events, span.links, span.status.status_code is StatusCode.ERROR),
    ]
    assert any(written)


def test_a_context_that_outlives_its_pass_begins_none(telemetry: Telemetry) -> None:
    """A task that goes on when the policy has returned has the span outside for its parent."""
    tracer = telemetry.tracer_provider.get_tracer("app")
    with tracer.start_as_current_span("app"):
        with ObservedPass(WORDS, about=ABOUT) as observed:
            kept = otel_context.get_current()
            observed.settle(WORDS)
        tracer.start_span("later", context=kept).end()
    app, later = telemetry.spans["app"], telemetry.spans["later"]
    assert later.parent == app.get_span_context()
    assert names.SPAN_PASS not in telemetry.spans


@pytest.mark.parametrize(
    "told", [{"outcome": names.NOOP}, {"spent": PassSpent(summary_input_tokens=9)}]
)
def test_a_pass_that_its_policy_tells_of_has_a_span(
    telemetry: Telemetry, told: dict[str, Any]
) -> None:
    """An outcome of the policy's own, or tokens that it spent, are something to tell."""
    with ObservedPass(WORDS, about=ABOUT) as observed:
        observed.settle(WORDS, **told)
    assert telemetry.attributes(names.SPAN_PASS)[names.COMPACTION_OUTCOME] == names.NOOP


def test_a_pass_inside_a_pass_of_the_same_policy_records_nothing(telemetry: Telemetry) -> None:
    """A policy that is observed twice is recorded once."""
    policy = object()
    with ObservedPass(WORDS, about=ABOUT, subject=policy) as outer:
        with (
            ObservedPass(WORDS, about=ABOUT, subject=object()) as other,
            ObservedPass(WORDS, about=ABOUT, subject=policy) as inner,
        ):
            inner.settle(WORDS[2:])
            other.settle(WORDS)
        outer.settle(WORDS[1:])
    passes = telemetry.exported.get_finished_spans()
    outcomes = [(span.attributes or {})[names.COMPACTION_OUTCOME] for span in passes]
    assert outcomes == [names.COMPACTED]


def test_a_policy_per_call_tells_the_sizes_of_the_call(telemetry: Telemetry) -> None:
    """History, request and saving are recorded where the policy's output is what is sent."""
    about = PassAbout(policy="Trimmer", window_tokens=5, per_call=True)
    _observe(WORDS, WORDS[1:], about=about)
    assert telemetry.total(names.METRIC_HISTORY_SIZE) == 6
    assert telemetry.total(names.METRIC_REQUEST_SIZE) == 4
    assert telemetry.total(names.METRIC_SAVED_TOKENS) == 1  # capped at the window
    assert telemetry.attributes(names.SPAN_PASS)[names.CONTEXT_HISTORY_TOKENS] == 6


def test_a_policy_that_replaces_the_messages_tells_no_history(telemetry: Telemetry) -> None:
    """Nobody knows the history once a policy has replaced it, so nobody claims to."""
    _observe(WORDS, WORDS[1:])
    assert telemetry.points(names.METRIC_HISTORY_SIZE) == []
    assert telemetry.points(names.METRIC_SAVED_TOKENS) == []


def test_what_the_pass_spent_is_on_span_and_metrics(telemetry: Telemetry) -> None:
    """Summary calls and their tokens are recorded as those of any pass."""
    with ObservedPass(WORDS, about=ABOUT) as observed:
        spent = PassSpent(summary_calls=2, summary_input_tokens=70, summary_output_tokens=8)
        observed.settle(WORDS[1:], spent=spent, reason="auto_summary")
    attributes = telemetry.attributes(names.SPAN_PASS)
    assert attributes[names.COMPACTION_SUMMARY_CALLS] == 2
    assert telemetry.total(names.METRIC_SUMMARY_INPUT_TOKENS) == 70


def test_a_counter_that_fails_gives_way_to_bytes(telemetry: Telemetry) -> None:
    """A broken counter costs its own number, and the source says so."""

    def broken(messages: Sequence[Any]) -> Size:
        raise ValueError("no")

    with ObservedPass(WORDS, about=ABOUT, measure=broken) as observed:
        observed.settle(WORDS[1:])
    assert telemetry.attributes(names.SPAN_PASS)[names.TOKENS_SOURCE] == "bytes"


def test_messages_that_cannot_be_compared_count_as_changed(telemetry: Telemetry) -> None:
    """A class whose equality raises does not break the run."""

    class Prickly:
        def __eq__(self, other: object) -> bool:
            raise TypeError("no")

        __hash__ = None  # type: ignore[assignment]

    with ObservedPass([Prickly()], about=ABOUT) as observed:
        observed.settle([Prickly()])
    assert telemetry.attributes(names.SPAN_PASS)[names.COMPACTION_OUTCOME] == names.COMPACTED


def test_without_an_sdk_nothing_is_measured(no_sdk: None) -> None:
    """No message is looked at while nobody listens."""

    def measure(messages: Sequence[Any]) -> Size:
        raise AssertionError("measured")

    with ObservedPass(WORDS, about=ABOUT, measure=measure) as observed:
        observed.settle(WORDS[1:])
    assert not observed.live


def test_what_a_failed_pass_spent_is_recorded_all_the_same(telemetry: Telemetry) -> None:
    """Summary calls that succeeded before the pass failed are paid for."""
    call = PassSpent(summary_calls=1, summary_input_tokens=30, summary_output_tokens=None)

    def fail_after_two_calls() -> None:
        with ObservedPass(WORDS, about=ABOUT) as observed:
            observed.spend(call)
            observed.spend(call)
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        fail_after_two_calls()
    attributes = telemetry.attributes(names.SPAN_PASS)
    assert attributes[names.COMPACTION_SUMMARY_CALLS] == 2
    assert attributes[names.COMPACTION_SUMMARY_INPUT_TOKENS] == 60
    assert names.COMPACTION_SUMMARY_OUTPUT_TOKENS not in attributes  # unknown is not nothing


def test_the_last_stage_ends_with_the_size_of_the_pass(telemetry: Telemetry) -> None:
    """A stage whose result is known only at the end of the pass tells what the pass tells."""
    with ObservedPass(WORDS, about=ABOUT, measure=size_by(_words), lazy=True) as observed:
        observed.last_stage("summarization")
        observed.last_stage("summarization")  # under way already
        observed.settle(WORDS[1:])
    attributes = telemetry.attributes(f"{names.SPAN_STAGE} summarization")
    assert attributes[names.COMPACTION_OUTCOME] == names.APPLIED
    assert attributes[names.COMPACTION_TOKENS_BEFORE] == 6
    assert attributes[names.COMPACTION_TOKENS_AFTER] == 4
    assert telemetry.attributes(names.SPAN_PASS)[names.COMPACTION_STAGES] == ("summarization",)


def test_an_exception_fails_the_last_stage_too(telemetry: Telemetry) -> None:
    """A stage that never saw the pass settled ends with the exception of the pass."""

    def fail_in_a_stage() -> None:
        with ObservedPass(WORDS, about=ABOUT, lazy=True) as observed:
            observed.last_stage("summarization")
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        fail_in_a_stage()
    for span in (names.SPAN_PASS, f"{names.SPAN_STAGE} summarization"):
        assert telemetry.attributes(span)[names.COMPACTION_OUTCOME] == names.FAILED


def test_a_policy_that_starts_from_a_view_has_a_history_of_its_own(telemetry: Telemetry) -> None:
    """History is told from the whole transcript, the request without this pass from the view."""
    about = PassAbout(policy="Trimmer", window_tokens=100, per_call=True)
    _observe(WORDS[1:], WORDS[2:], about=about, history=WORDS)
    attributes = telemetry.attributes(names.SPAN_PASS)
    assert attributes[names.CONTEXT_HISTORY_TOKENS] == 6
    assert attributes[names.COMPACTION_TOKENS_BEFORE] == 4
    assert telemetry.total(names.METRIC_SAVED_TOKENS) == 3
