"""The 0.9 line is instrumented from outside, and does what it does without."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.trace import StatusCode, get_current_span

import lovia
from lovia import Agent, CancelToken, RetryPolicy, RunBudget, Runner, tool
from lovia.testing import ScriptedProvider, call, text
from lovia.tracing import InMemoryTracer
from lovia_otel import names
from lovia_otel.instrumentor import LoviaInstrumentor
from tests.upstream.lovia_09.agents import SUMMARY, checkpointed, handing_over, look, policy
from tests.upstream.trees import all_facts, facts, tree

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.otel.conftest import Telemetry

pytestmark = pytest.mark.anyio

TREE = """\
invoke_agent a
  checkpoint_load
  agent_turn
    chat
    checkpoint_save
    execute_tool look
    execute_tool look
    checkpoint_save
    checkpoint_save
  checkpoint_save
  agent_turn
    compact_context
      compact_context.stage offload
      compact_context.stage clear
      compact_context.stage summary
    chat
    checkpoint_save
    execute_tool look
    checkpoint_save
  checkpoint_save
  agent_turn
    compact_context
      compact_context.stage offload
        archive_write
      compact_context.stage clear
      compact_context.stage summary
        fold_chunk
          chat
    chat
    checkpoint_save
    execute_tool transfer_to_b
    checkpoint_save
  invoke_agent b
    checkpoint_save
    agent_turn
      chat
      checkpoint_save
    checkpoint_save
    checkpoint_save"""


@pytest.fixture(autouse=True)
def _instrumented() -> Iterator[None]:
    """Instrument the package for the length of a test."""
    LoviaInstrumentor().instrument()
    yield
    LoviaInstrumentor().uninstrument()


async def _run(**options: Any) -> Any:
    return await Runner.run(handing_over(), "go", session_id="s1", **options)


# --- what is recorded ---


async def test_a_run_is_a_tree_of_spans(telemetry: Telemetry) -> None:
    """Runs, turns, model calls, tools, passes with stages and folds, archive and checkpoints."""
    await _run(session=lovia.InMemorySession(), checkpoint=checkpointed())
    assert tree(telemetry) == TREE.splitlines()


async def test_the_sizes_are_those_of_its_own_counter(telemetry: Telemetry) -> None:
    """Each model call tells history, request, window and what compaction saved."""
    await _run()
    calls = [f for f in all_facts(telemetry, "chat") if f[names.INFERENCE_PURPOSE] == "turn"]
    views = [call[names.CONTEXT_VIEW] for call in calls]
    assert views == ["original", "original", "compacted", "replayed"]
    for call_ in calls:
        history, request = call_[names.CONTEXT_HISTORY_TOKENS], call_[names.CONTEXT_REQUEST_TOKENS]
        assert call_[names.CONTEXT_SAVED_TOKENS] == history - request
        assert (request < history) == (call_[names.CONTEXT_VIEW] in {"compacted", "replayed"})
        assert call_[names.CONTEXT_WINDOW_TOKENS] == 12_000
        assert call_[names.TOKENS_SOURCE] == "bytes"
    assert telemetry.total(names.METRIC_SAVED_TOKENS) == sum(
        call_[names.CONTEXT_SAVED_TOKENS] for call_ in calls
    )


async def test_a_pass_tells_its_numbers(telemetry: Telemetry) -> None:
    """The pass has its sizes and cost; what its stages freed adds up to what it freed."""
    await _run()
    idle, useful = all_facts(telemetry, "compact_context")
    assert idle[names.COMPACTION_OUTCOME] == "noop"
    assert useful[names.COMPACTION_OUTCOME] == "compacted"
    assert useful[names.COMPACTION_STAGES] == ("offload", "clear", "summary")
    assert useful[names.COMPACTION_STAGE_OUTCOMES] == ("applied", "noop", "applied")
    assert useful[names.COMPACTION_SUMMARY_CALLS] == 1
    assert useful[names.COMPACTION_SUMMARY_INPUT_TOKENS] == 1
    assert useful[names.CONTEXT_HISTORY_TOKENS] == useful[names.COMPACTION_TOKENS_BEFORE]
    freed = useful[names.COMPACTION_TOKENS_FREED]
    assert telemetry.total(names.METRIC_FREED_TOKENS) == freed
    told = telemetry.events[names.EVENT_CONTEXT_COMPACTED].attributes or {}
    assert told[names.COMPACTION_TOKENS_FREED] == freed
    assert told[names.RUN_ID] == facts(telemetry, "invoke_agent a")[names.RUN_ID]


async def test_a_run_tells_what_it_cost(telemetry: Telemetry) -> None:
    """Turns and summaries are counted apart; a handoff has its own run span, event and count."""
    await _run()
    whole, part = facts(telemetry, "invoke_agent a"), facts(telemetry, "invoke_agent b")
    assert (
        whole.items()
        >= {
            names.RUN_OUTCOME: "completed",
            names.RUN_TURNS: 4,
            names.RUN_COMPACTIONS: 1,
            names.USAGE_INPUT_TOKENS: 4,
            names.RUN_SUMMARY_INPUT_TOKENS: 1,
            names.CONVERSATION_ID: "s1",
        }.items()
    )
    assert part[names.RUN_TURNS] == 1
    assert telemetry.total(names.METRIC_HANDOFFS) == 1
    assert telemetry.total(names.METRIC_RUNS_ACTIVE) == 0
    handoff = telemetry.events[names.EVENT_AGENT_HANDOFF].attributes or {}
    assert (handoff[names.HANDOFF_SOURCE], handoff[names.HANDOFF_TARGET]) == ("a", "b")


async def test_an_overflow_is_a_pass_of_its_own(telemetry: Telemetry) -> None:
    """A rejected call is an error; the pass after it says why it was made."""

    class Small(ScriptedProvider):
        rejected = False

        async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            if len(args[0]) > 4 and not Small.rejected:
                Small.rejected = True
                raise lovia.ContextOverflowError("too long")
            async for delta in super().stream(*args, **kwargs):
                yield delta

    script = [call("look", {"q": "1"}), call("look", {"q": "2"}), text("end")]
    keen = policy(compact_at=9000, compact_to=300, keep_recent_tokens=50)
    agent = Agent(name="a", model=Small(script), tools=[look], context_policy=keen)
    await Runner.run(agent, "go")
    passes = [
        facts_[names.COMPACTION_TRIGGER] for facts_ in all_facts(telemetry, "compact_context")
    ]
    assert passes == ["overflow"]
    failed = [s for s in telemetry.exported.get_finished_spans() if s.name == "chat"]
    assert [s.status.status_code for s in failed].count(StatusCode.ERROR) == 1


async def test_a_tool_that_fails_is_an_error_of_its_own(telemetry: Telemetry) -> None:
    """The run goes on, and only the tool's span has failed."""

    @tool
    async def broken(q: str) -> str:
        """Break."""
        raise ValueError("secret")

    script = [call("broken", {"q": "1"}), text("end")]
    await Runner.run(Agent(name="a", model=ScriptedProvider(script), tools=[broken]), "go")
    assert facts(telemetry, "execute_tool broken")[names.ERROR_TYPE] == "ValueError"
    assert facts(telemetry, "invoke_agent a")[names.RUN_OUTCOME] == "completed"


async def test_a_run_inside_a_tool_is_below_the_tool(telemetry: Telemetry) -> None:
    """An agent that is asked as a tool makes a run of its own."""
    inner = Agent(name="b", model=ScriptedProvider([text("inner")]))
    script = [call("ask_b", {"input": "1"}), text("end")]
    outer = Agent(name="a", model=ScriptedProvider(script), tools=[inner.as_tool()])
    await Runner.run(outer, "go")
    assert tree(telemetry) == [
        "invoke_agent a",
        "  agent_turn",
        "    chat",
        "    execute_tool ask_b",
        "      invoke_agent b",
        "        agent_turn",
        "          chat",
        "  agent_turn",
        "    chat",
    ]


async def test_runs_side_by_side_keep_apart(telemetry: Telemetry) -> None:
    """Each of several concurrent runs has its own trace."""
    agents = [Agent(name=f"n{n}", model=ScriptedProvider([text("end")])) for n in range(4)]
    await asyncio.gather(*(Runner.run(agent, "go") for agent in agents))
    expected = [[f"invoke_agent n{n}", "  agent_turn", "    chat"] for n in range(4)]
    lines = tree(telemetry)
    assert sorted(lines[n : n + 3] for n in range(0, len(lines), 3)) == expected


class Half:
    """A policy of a user's own, without stages."""

    async def compact(self, req: Any) -> Any:
        """Leave out all but the first and the newest entries."""
        view = [req.entries[0], *req.entries[-2:]] if len(req.entries) > 3 else req.entries
        changed = len(view) < len(req.entries)
        return lovia.context.ContextResult(view, changed=changed, compacted=changed)


async def test_policies_of_users_are_seen(telemetry: Telemetry) -> None:
    """A policy without stages makes a pass whenever it acts."""
    script = [call("look", {"q": "1"}), call("look", {"q": "2"}), text("end")]
    agent = Agent(name="a", model=ScriptedProvider(script), tools=[look])
    await Runner.run(agent, "go", context_policy=Half())
    outcomes = [f[names.COMPACTION_OUTCOME] for f in all_facts(telemetry, "compact_context")]
    assert outcomes == ["compacted"]


async def test_a_resumed_run_says_so(telemetry: Telemetry) -> None:
    """The second attempt at a run that was saved is a resumed one."""
    store = lovia.InMemoryCheckpointer()

    class Down(ScriptedProvider):
        async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            raise lovia.ProviderError("down", status_code=400)
            yield

    script = [call("look", {"q": "1"}), text("end")]
    agent = Agent(name="a", model=ScriptedProvider(script[:1]), tools=[look])
    with pytest.raises(Exception):  # noqa: B017, PT011 - the script is at its end
        await Runner.run(agent, "go", checkpoint=checkpointed("r7", store))
    agent = Agent(name="a", model=ScriptedProvider(script[1:]), tools=[look])
    await Runner.run(agent, "go", checkpoint=checkpointed("r7", store))
    first, second = all_facts(telemetry, "invoke_agent a")
    assert [first[names.RUN_OUTCOME], second[names.RUN_OUTCOME]] == ["failed", "completed"]
    assert [first[names.RUN_RESUMED], second[names.RUN_RESUMED]] == [False, True]
    assert names.EVENT_RUN_RESUMED in telemetry.events


# --- how runs end ---


async def test_a_cancelled_run_is_cancelled(telemetry: Telemetry) -> None:
    """A run that somebody stops has that outcome, is counted and told."""
    token = CancelToken()
    token.cancel("secret reason")
    with pytest.raises(lovia.RunCancelled):
        await _run(cancel_token=token)
    span = facts(telemetry, "invoke_agent a")
    assert span[names.RUN_OUTCOME] == "cancelled"
    assert span[names.CANCELLATION_REASON] == "user"
    assert telemetry.keys(names.METRIC_CANCELLATIONS) == {names.CANCELLATION_REASON: "user"}
    assert names.EVENT_RUN_CANCELLED in telemetry.events


async def test_a_cancelled_task_leaves_no_span_open(telemetry: Telemetry) -> None:
    """Every span ends when the task is cancelled in the middle of a model call."""

    class Slow(ScriptedProvider):
        async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            await asyncio.sleep(60)
            yield

    task = asyncio.ensure_future(Runner.run(Agent(name="a", model=Slow([])), "go"))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tree(telemetry) == ["invoke_agent a", "  agent_turn", "    chat"]
    assert facts(telemetry, "invoke_agent a")[names.RUN_OUTCOME] == "cancelled"
    assert telemetry.total(names.METRIC_RUNS_ACTIVE) == 0


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ({"max_turns": 1}, "limit_reached"),
        ({"budget": RunBudget(max_tool_calls=1)}, "limit_reached"),
        ({"max_turns": 10}, "completed"),
    ],
    ids=["turns", "budget", "none"],
)
async def test_a_limit_is_no_failure(
    telemetry: Telemetry, options: dict[str, Any], outcome: str
) -> None:
    """A run that reached a limit is told apart from one that failed."""
    if outcome == "completed":
        await _run(**options)
    else:
        with pytest.raises(lovia.LoviaError):
            await _run(**options)
    assert facts(telemetry, "invoke_agent a")[names.RUN_OUTCOME] == outcome


# --- nothing leaks, nothing changes ---


async def test_a_stream_leaks_no_span_to_its_reader(telemetry: Telemetry) -> None:
    """Between two events the reader's own span is current, or none."""
    handle = Runner.stream(handing_over(), "go")
    tracer = telemetry.tracer_provider.get_tracer("app")
    with tracer.start_as_current_span("reader") as reader:
        kinds = []
        async for event in handle:
            assert get_current_span() is reader
            kinds.append(type(event).__name__)
        result = await handle.result()
    assert result.output == "end"
    assert kinds[-1] == "RunCompleted"
    assert not get_current_span().get_span_context().is_valid
    assert tree(telemetry)[:2] == ["reader", "  invoke_agent a"]


async def test_a_stream_that_is_left_early_ends_its_spans(telemetry: Telemetry) -> None:
    """A reader that breaks off leaves nothing open once the run is collected."""
    handle = Runner.stream(handing_over(), "go")
    async for event in handle:
        if type(event).__name__ == "TurnStarted":
            break
    del handle, event
    gc.collect()
    await asyncio.sleep(0.05)
    assert not get_current_span().get_span_context().is_valid
    assert facts(telemetry, "invoke_agent a")[names.RUN_OUTCOME] == "cancelled"
    assert telemetry.total(names.METRIC_RUNS_ACTIVE) == 0


def _said(entry: Any) -> tuple[str, dict[str, Any]]:
    """Return what an entry says, without the live object that a handoff leaves in it."""
    return type(entry).__name__, {**vars(entry), "raw": None}


async def test_results_are_the_same(telemetry: Telemetry) -> None:
    """Output, transcript, usage and events are those of a run that nobody watches."""

    async def outcome() -> tuple[Any, ...]:
        handle = Runner.stream(handing_over(), "go")
        kinds = [type(event).__name__ async for event in handle]
        result = await handle.result()
        return result.output, list(map(_said, result.entries)), repr(result.usage), kinds

    watched = await outcome()
    LoviaInstrumentor().uninstrument()
    alone = await outcome()
    LoviaInstrumentor().instrument()
    assert watched == alone


async def test_exceptions_are_the_same(telemetry: Telemetry) -> None:
    """What a provider raises comes out as it is, and marks the spans."""
    raised = lovia.ProviderError("secret", status_code=400)

    class Down(ScriptedProvider):
        async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            raise raised
            yield

    with pytest.raises(lovia.ProviderError) as caught:
        await Runner.run(Agent(name="a", model=Down([]), retry=RetryPolicy(max_attempts=1)), "go")
    assert caught.value is raised
    assert facts(telemetry, "chat")[names.ERROR_TYPE] == "ProviderError"
    assert facts(telemetry, "invoke_agent a")[names.RUN_OUTCOME] == "failed"


async def test_the_callers_own_tracer_sees_what_it_saw(telemetry: Telemetry) -> None:
    """A tracer that the caller gives is used as well, and sees the same spans."""
    mine = InMemoryTracer()
    await _run(tracer=mine)
    LoviaInstrumentor().uninstrument()
    alone = InMemoryTracer()
    await _run(tracer=alone)
    LoviaInstrumentor().instrument()

    def seen(tracer: Any) -> list[Any]:
        return [(s.name, {**s.attrs, "run_id": None}) for s in tracer.spans]

    assert seen(mine) == seen(alone)


def _classes() -> list[type]:
    own = [lovia.Agent, lovia.Runner, ScriptedProvider, Half]
    names_ = ("Compaction", "InMemoryResultStore", "InMemoryCheckpointer", "RunHandle")
    return [*own, *(getattr(lovia, name) for name in names_)]


async def test_uninstrumenting_leaves_no_trace(telemetry: Telemetry) -> None:
    """Every attribute of every class is the very object that it was."""
    LoviaInstrumentor().uninstrument()
    before = [dict(vars(kind)) for kind in _classes()]
    LoviaInstrumentor().instrument()
    await _run(checkpoint=checkpointed())
    await Runner.run(Agent(name="a", model=ScriptedProvider([text("end")])), "go",
                     context_policy=Half())  # fmt: skip
    assert [dict(vars(kind)) for kind in _classes()] != before
    LoviaInstrumentor().uninstrument()
    for kind, attributes in zip(_classes(), before, strict=True):
        assert vars(kind).keys() == attributes.keys()
        assert all(vars(kind)[name] is value for name, value in attributes.items())
    telemetry.exported.clear()
    await _run()
    assert telemetry.exported.get_finished_spans() == ()
    LoviaInstrumentor().instrument()


async def test_without_an_sdk_nothing_is_done(no_sdk: None) -> None:
    """A run that nobody listens to gets no tracer and no context of its own."""
    handle = Runner.stream(handing_over(), "go")
    assert type(handle._stream).__name__ != "Steps"
    assert (await handle.result()).output == "end"


# --- content ---


async def test_no_content_leaves_by_default(telemetry: Telemetry) -> None:
    """Prompts, arguments, results, summaries and texts of exceptions stay where they are."""

    @tool
    async def hush(q: str) -> str:
        """Whisper."""
        if q == "SECRET-again":
            raise ValueError("SECRET-error")
        return "SECRET-result " * 3000

    script = [call("hush", {"q": "SECRET-argument"}), call("hush", {"q": "SECRET-again"}),
              call("hush", {"q": "SECRET-argument"}), text("SECRET-answer")]  # fmt: skip
    agent = Agent(
        name="a",
        instructions="SECRET-instructions",
        model=ScriptedProvider(script),
        tools=[hush],
        context_policy=policy(SUMMARY + "SECRET-summary"),
    )
    result = await Runner.run(agent, "SECRET-prompt")
    assert result.output == "SECRET-answer"
    assert "compact_context" in {span.name for span in telemetry.exported.get_finished_spans()}
    exported = [span.to_json() for span in telemetry.exported.get_finished_spans()]
    exported += [repr(vars(log.log_record)) for log in telemetry.logged.get_finished_logs()]
    exported.append(telemetry.reader.get_metrics_data().to_json())
    assert [text_ for text_ in exported if "SECRET" in text_] == []


async def test_content_leaves_where_it_may(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With capture on, requests and answers are on the chat spans, the summary on the pass."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, "SPAN_ONLY")
    await _run()
    last = all_facts(telemetry, "chat")[-1]
    assert '"end"' in last[names.OUTPUT_MESSAGES]
    assert '"role": "user"' in last[names.INPUT_MESSAGES]
    useful = all_facts(telemetry, "compact_context")[-1]
    assert "Session intent" in useful[names.SUMMARY_TEXT]
