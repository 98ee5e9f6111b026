"""Policies are known by their shape, and do under observation what they do without."""

from __future__ import annotations

import copy
import functools
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from lovia.context import CompactingContextPolicy, ContextPolicyResult, PolicyContext
from lovia.context.policy import ContextSizes
from lovia_otel import UnobservableError, names, observe
from lovia_otel.foreign.shapes import view_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tests.otel.conftest import Telemetry

ENTRIES = ["one two", "three", "four five six"]
CTX = PolicyContext(model="m", session_id="s", agent="a")


class Policy:
    """A policy that drops the oldest entry and counts what it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def apply(self, entries: list[Any], *, ctx: PolicyContext) -> ContextPolicyResult:
        """Drop the oldest entry."""
        self.asked += 1
        return ContextPolicyResult(entries[1:], changed=True, summary="short", reason="middle_snip")

    async def apply_reactive(
        self, entries: list[Any], *, ctx: PolicyContext, error: Exception
    ) -> list[Any]:
        """Keep the newest entry, as a bare list."""
        return entries[-1:]


class Compacter:
    """A policy of the 0.9 line's shape."""

    context_window = 5

    async def compact(self, req: Any) -> Any:
        """Drop the oldest entry and tell the sizes."""
        return SimpleNamespace(
            entries=req.entries[1:], compacted=True, changed=True, tokens_before=60, tokens_after=40
        )


@dataclass(slots=True)
class Slotted:
    """A policy without a dictionary, whose method is sync."""

    kept: int = 1

    def compact(self, req: Any) -> list[Any]:
        """Keep the newest entries."""
        return list(req.entries[-self.kept :])


async def _ask(policy: Any) -> Any:
    return await policy.apply(ENTRIES, ctx=CTX)


# --- what is recorded ---


@pytest.mark.anyio
async def test_an_observed_policy_makes_passes(telemetry: Telemetry) -> None:
    """A call of apply() is a pass that says whose it is and what it did."""
    await _ask(observe(Policy()))
    attributes = telemetry.attributes(names.SPAN_PASS)
    assert (
        attributes.items()
        >= {
            names.COMPACTION_POLICY: "Policy",
            names.COMPACTION_TRIGGER: "threshold",
            names.COMPACTION_OUTCOME: "compacted",
            names.COMPACTION_REASON: "middle_snip",
            names.COMPACTION_ENTRIES_BEFORE: 3,
            names.COMPACTION_ENTRIES_AFTER: 2,
            names.CONVERSATION_ID: "s",
            names.AGENT_NAME: "a",
            names.REQUEST_MODEL: "m",
            names.TOKENS_SOURCE: "bytes",
        }.items()
    )


@pytest.mark.anyio
async def test_the_reaction_to_an_overflow_is_one_too(telemetry: Telemetry) -> None:
    """apply_reactive() is triggered by an overflow; a bare list is a view."""
    policy = observe(Policy())
    view = await policy.apply_reactive(ENTRIES, ctx=CTX, error=ValueError())
    assert view == ENTRIES[-1:]
    assert telemetry.attributes(names.SPAN_PASS)[names.COMPACTION_TRIGGER] == "overflow"


@pytest.mark.anyio
@pytest.mark.parametrize(("overflow", "trigger"), [(False, "threshold"), (True, "overflow")])
async def test_a_policy_of_the_old_shape_tells_its_own_sizes(
    telemetry: Telemetry, overflow: bool, trigger: str
) -> None:
    """compact() makes passes; what its result says of sizes is what is recorded."""
    policy = observe(Compacter())
    await policy.compact(SimpleNamespace(entries=ENTRIES, overflow=overflow, provider=None))
    attributes = telemetry.attributes(names.SPAN_PASS)
    assert attributes[names.COMPACTION_TOKENS_BEFORE] == 60
    assert attributes[names.COMPACTION_TOKENS_FREED] == 20
    assert attributes[names.COMPACTION_TRIGGER] == trigger
    assert attributes[names.CONTEXT_WINDOW_TOKENS] == 5


def test_a_sync_policy_stays_sync(telemetry: Telemetry) -> None:
    """A policy without a dictionary and without a coroutine is observed as well."""
    assert observe(Slotted()).compact(SimpleNamespace(entries=ENTRIES)) == ENTRIES[-1:]
    assert telemetry.attributes(names.SPAN_PASS)[names.COMPACTION_OUTCOME] == "compacted"


@pytest.mark.anyio
async def test_a_result_that_knows_itself_is_believed(telemetry: Telemetry) -> None:
    """Outcome, sizes and view of a result say more than lengths."""

    class Knowing:
        async def apply(self, entries: list[Any], *, ctx: PolicyContext) -> ContextPolicyResult:
            sizes = ContextSizes(900, 800, 700, 1000, "tokenizer")
            return ContextPolicyResult(entries[1:], True, outcome="partial", sizes=sizes)

    await _ask(observe(Knowing()))
    attributes = telemetry.attributes(names.SPAN_PASS)
    assert attributes[names.COMPACTION_OUTCOME] == "partial"
    assert attributes[names.COMPACTION_TOKENS_BEFORE] == 800
    assert attributes[names.COMPACTION_TOKENS_AFTER] == 700
    assert attributes[names.TOKENS_SOURCE] == "tokenizer"


@pytest.mark.anyio
async def test_a_replayed_view_did_nothing_new(telemetry: Telemetry) -> None:
    """A view that repeats earlier decisions is no pass, although it is smaller."""

    class Replaying:
        async def apply(self, entries: list[Any], *, ctx: PolicyContext) -> ContextPolicyResult:
            return ContextPolicyResult(entries[1:], changed=True, view="replayed")

    await _ask(observe(Replaying()))
    assert names.SPAN_PASS not in telemetry.spans


# --- plain callables ---


def _trim(messages: Sequence[Any]) -> list[Any]:
    return list(messages[1:])


async def _atrim(messages: Sequence[Any]) -> list[Any]:
    return list(messages[1:])


class _Trimmer:
    def __call__(self, messages: Sequence[Any]) -> list[Any]:
        return list(messages[1:])


def _later(messages: Sequence[Any]) -> Awaitable[list[Any]]:
    return _atrim(messages)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (_trim, "_trim"),
        (lambda messages: messages[1:], "<lambda>"),
        (functools.partial(_trim), "_trim"),
        (_Trimmer(), "_Trimmer"),
    ],
    ids=["function", "lambda", "partial", "object"],
)
def test_a_callable_on_messages_is_a_policy(
    telemetry: Telemetry, function: Callable[..., Any], name: str
) -> None:
    """Each call of it is a pass, and what it gets is the history of a call."""
    observed = observe(function, window_tokens=20)
    assert observed(ENTRIES) == ENTRIES[1:]
    attributes = telemetry.attributes(names.SPAN_PASS)
    assert attributes[names.COMPACTION_POLICY] == name
    assert telemetry.total(names.METRIC_HISTORY_SIZE) > telemetry.total(names.METRIC_REQUEST_SIZE)


@pytest.mark.anyio
@pytest.mark.parametrize("function", [_atrim, _later], ids=["async", "returns an awaitable"])
async def test_an_async_callable_is_timed_to_its_end(telemetry: Telemetry, function: Any) -> None:
    """The pass ends when the messages are there, in one span."""
    observed = observe(function)
    pending = observed(ENTRIES)
    assert not telemetry.spans
    assert await pending == ENTRIES[1:]
    (span,) = telemetry.exported.get_finished_spans()
    assert (span.attributes or {})[names.COMPACTION_OUTCOME] == "compacted"


def test_names_and_counters_can_be_given(telemetry: Telemetry) -> None:
    """What the caller says wins over what was found out."""
    observe(_trim, name="mine", counter=len, agent="b")(ENTRIES)
    attributes = telemetry.attributes(names.SPAN_PASS)
    assert attributes[names.COMPACTION_POLICY] == "mine"
    assert attributes[names.COMPACTION_TOKENS_BEFORE] == 3
    assert attributes[names.TOKENS_SOURCE] == "tokenizer"
    assert attributes[names.AGENT_NAME] == "b"


# --- nothing else changes ---


@pytest.mark.anyio
async def test_results_and_exceptions_are_the_policys_own(telemetry: Telemetry) -> None:
    """The very objects that the policy returns and raises come out."""
    raised, returned = KeyError("x"), ContextPolicyResult([], changed=False)

    class Moody:
        async def apply(self, entries: list[Any], *, ctx: PolicyContext) -> ContextPolicyResult:
            if entries:
                return returned
            raise raised

    policy = observe(Moody())
    assert await policy.apply(ENTRIES, ctx=CTX) is returned
    with pytest.raises(KeyError) as caught:
        await policy.apply([], ctx=CTX)
    assert caught.value is raised


@pytest.mark.anyio
async def test_wrong_arguments_are_refused_by_the_policy(telemetry: Telemetry) -> None:
    """A call that the policy does not take fails as it does without the wrapper."""
    with pytest.raises(TypeError, match="apply"):
        await observe(Policy()).apply()  # type: ignore[call-arg]


@pytest.mark.anyio
async def test_an_observed_policy_is_what_it_was(telemetry: Telemetry) -> None:
    """Classes, attributes, equality, text and copies are those of the policy."""
    policy = Policy()
    observed = observe(policy)
    assert isinstance(observed, Policy)
    await _ask(observed)
    assert policy.asked == observed.asked == 1
    observed.asked = 7
    assert policy.asked == 7
    assert observed == policy
    assert repr(observed) == repr(policy)
    assert hash(observed) == hash(policy)
    assert not hasattr(observed, "compact")
    assert dir(observed) == dir(policy)
    twin = copy.deepcopy(observed)
    await _ask(twin)
    assert (twin.asked, policy.asked) == (8, 7)
    assert len(telemetry.exported.get_finished_spans()) == 2
    assert type(observed).__qualname__ == "Policy"


def test_lovias_own_policies_come_back_as_they_are(telemetry: Telemetry) -> None:
    """A policy that opens its own passes, or inherits that, is not wrapped."""

    class Mine(CompactingContextPolicy):
        pass

    for policy in (CompactingContextPolicy(), Mine()):
        assert observe(policy) is policy


def test_observing_twice_is_observing_once(telemetry: Telemetry) -> None:
    """What is observed comes back as it is."""
    policy, function = observe(Policy()), observe(_trim)
    assert observe(policy) is policy
    assert observe(function) is function


@pytest.mark.parametrize("subject", [None, 3, "text", Policy], ids=repr)
def test_what_is_no_policy_is_refused(subject: Any) -> None:
    """The error says what can be given."""
    with pytest.raises(UnobservableError, match="apply") as caught:
        observe(subject)
    assert caught.value.hint


def test_a_method_of_an_instance_is_observed(telemetry: Telemetry) -> None:
    """A policy that was put together at run time works as well."""
    policy = SimpleNamespace(compact=lambda req: req.entries[1:])
    assert observe(policy).compact(SimpleNamespace(entries=ENTRIES)) == ENTRIES[1:]
    assert names.SPAN_PASS in telemetry.spans


def test_a_policy_works_on_when_its_result_is_beyond_reading(telemetry: Telemetry) -> None:
    """A result without messages comes through; the pass says no more than that it was there."""
    assert observe(lambda messages: 42)(ENTRIES) == 42
    assert names.SPAN_PASS in telemetry.spans


def test_messages_are_found_where_they_are_held() -> None:
    """A list, an attribute or a key holds the messages."""
    assert view_of(ENTRIES) is ENTRIES
    assert view_of({"messages": ENTRIES}) is ENTRIES
    assert view_of(SimpleNamespace(entries=ENTRIES)) is ENTRIES
    with pytest.raises(TypeError):
        view_of(object())


# --- inside ---


@dataclass
class Summarizer:
    """A summarizer that says what it spent."""

    async def summarize(self, entries: Sequence[Any], **_: Any) -> Any:
        """Summarize in one word."""
        usage = SimpleNamespace(input_tokens=9, output_tokens=1)
        return SimpleNamespace(text="sum", usage=usage)


@dataclass
class Fold:
    """A stage that folds everything but the newest entry."""

    summarizer: Summarizer = field(default_factory=Summarizer)
    name: str = "fold"

    async def apply(self, entries: list[Any], *, ctx: Any) -> Any:
        """Fold."""
        summary = await self.summarizer.summarize(entries[:-1])
        return SimpleNamespace(entries=[summary.text, entries[-1]], changed=True, note="folded")


@dataclass
class Plan:
    """A stage of the 0.9 line's shape that decides nothing."""

    async def plan(self, body: list[Any], ctx: Any) -> bool:
        """Decide nothing."""
        return False


@dataclass(eq=False)
class Staged:
    """A policy whose stages are in reach."""

    stages: list[Any] = field(default_factory=lambda: [Plan(), Fold()])
    passes: int = 0

    async def apply(self, entries: list[Any], *, ctx: Any) -> Any:
        """Run the stages."""
        self.passes += 1
        await self.stages[0].plan(entries, SimpleNamespace(current_tokens=77))
        result = await self.stages[1].apply(entries, ctx=ctx)
        return ContextPolicyResult(result.entries, changed=True)


@pytest.mark.anyio
async def test_stages_and_folds_in_reach_get_their_spans(telemetry: Telemetry) -> None:
    """They are below the pass, in order, and the policy keeps its own stages."""
    policy = Staged()
    stages = list(policy.stages)
    observed = observe(policy)
    result = await observed.apply(ENTRIES, ctx=CTX)
    assert result.entries == ["sum", ENTRIES[-1]]
    assert policy.passes == 1
    assert all(now is then for now, then in zip(policy.stages, stages, strict=True))
    assert all(now is then for now, then in zip(observed.stages, stages, strict=True))
    spans = telemetry.spans
    by_id = {s.context.span_id: s.name for s in spans.values() if s.context is not None}
    parents = {s.name: by_id.get(s.parent.span_id) if s.parent else None for s in spans.values()}
    assert parents == {
        "compact_context": None,
        "compact_context.stage Plan": "compact_context",
        "compact_context.stage fold": "compact_context",
        "fold_chunk": "compact_context.stage fold",
    }
    whole = telemetry.attributes("compact_context")
    assert whole[names.COMPACTION_STAGE_OUTCOMES] == ("noop", "applied")
    assert whole[names.COMPACTION_SUMMARY_CALLS] == 1
    assert whole[names.COMPACTION_SUMMARY_INPUT_TOKENS] == 9
    assert telemetry.attributes("compact_context.stage Plan")[names.COMPACTION_TOKENS_BEFORE] == 77
    assert telemetry.attributes("compact_context.stage fold")[names.COMPACTION_NOTE] == "folded"


@pytest.mark.anyio
async def test_a_stage_alone_does_its_own_work(telemetry: Telemetry) -> None:
    """Outside of an observed pass a stage leaves no span."""
    await Staged().apply(ENTRIES, ctx=CTX)
    assert not telemetry.spans


@pytest.mark.anyio
async def test_a_policy_can_replace_its_own_stages(telemetry: Telemetry) -> None:
    """What a policy sets on itself while it works is set on the policy."""

    class Restless(Staged):
        async def apply(self, entries: list[Any], *, ctx: Any) -> Any:
            self.stages = [Plan(), Fold(name="other")]
            return await super().apply(entries, ctx=ctx)

    policy = Restless()
    await observe(policy).apply(ENTRIES, ctx=CTX)
    assert policy.stages[1].name == "other"
    assert "compact_context.stage other" in telemetry.spans
