"""A fault for each alert, provoked in real runs."""

from __future__ import annotations

import itertools
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
import pytest
from anyio import to_thread

from lovia import (
    Agent,
    AutoSummaryStage,
    CompactingContextPolicy,
    ContextOverflowError,
    ContextPolicyResult,
    FileCompactionArchive,
    InputEntry,
    LLMSummarizer,
    Runner,
    StageResult,
    Usage,
)
from lovia.testing import AssistantTurn, ScriptedProvider, ScriptedRequest, batch, text
from lovia_otel.spans import _scope
from tests.dashboards import traffic

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from lovia import PolicyContext, TranscriptEntry

_WINDOW: Final = 4_000  # tokens
_SLOW: Final = 45  # seconds


class _Clock:
    """The clock that spans are timed with, which can be put forward."""

    def __init__(self) -> None:
        self._ahead = 0

    def put_forward(self, seconds: int) -> None:
        self._ahead += seconds * 1_000_000_000

    def perf_counter_ns(self) -> int:
        return time.perf_counter_ns() + self._ahead

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


class SlowStage:
    """A stage that changes nothing and takes long: by the clock, so that no test waits."""

    name = "slow"

    def __init__(self, clock: _Clock) -> None:
        self._clock = clock

    async def apply(self, entries: list[TranscriptEntry], *, ctx: PolicyContext) -> StageResult:
        """Let time pass."""
        self._clock.put_forward(_SLOW)
        return StageResult(entries, changed=False)


class ClockPolicy:
    """A policy of somebody else's that tells the model the time, before everything else."""

    def __init__(self) -> None:
        self._tick = itertools.count()

    async def apply(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext
    ) -> ContextPolicyResult:
        """Return the transcript behind the time."""
        now = InputEntry(role="user", content=f"It is {next(self._tick)} o'clock.")
        return ContextPolicyResult([now, *entries], changed=True)


async def slow_passes(folder: Path) -> None:
    """Compact with a stage that takes most of a minute."""
    with _clock() as clock:
        await _run("slow", _policy(SlowStage(clock)), *_looks())


async def costly_summaries(folder: Path) -> None:
    """Compact with summaries that cost more than they can save."""

    def spent(request: ScriptedRequest, turn: AssistantTurn) -> Usage | None:
        return Usage(input_tokens=100_000, output_tokens=1_000) if request.is_summary else None

    await _run("costly", _policy(AutoSummaryStage(LLMSummarizer())), *_looks(), usage=spent)


async def full_windows(folder: Path) -> None:
    """Compact with nothing, so that requests grow beyond the window."""
    policy = CompactingContextPolicy(_WINDOW // 2, stages=[])
    await _run("full", policy, *_looks())


async def refused_requests(folder: Path) -> None:
    """Ask a provider whose window is smaller than what it was said to be."""
    looks = _looks()
    script = [*looks[:4], ContextOverflowError(), text("done")]
    await _run("refused", CompactingContextPolicy(_WINDOW), *script)


async def unstable_prefixes(folder: Path) -> None:
    """Begin each request with other words."""
    await _run("restless", ClockPolicy(), *_looks()[-4:])


async def healthy(folder: Path) -> None:
    """Do what nobody has to be told of."""
    stages = [AutoSummaryStage(LLMSummarizer())]
    archive = await to_thread.run_sync(FileCompactionArchive, folder)
    await _run("fine", _policy(*stages, archive=archive), *_looks())


#: What provokes each alert; one that is absent is provoked by silence.
FAULTS: Final[dict[str, Callable[[Path], Awaitable[None]]]] = {
    "LoviaCompactionFailing": traffic.stages_failed,
    "LoviaStageFailing": traffic.stages_failed,
    "LoviaSummariesFailing": traffic.summaries_failed,
    "LoviaCompactionSlow": slow_passes,
    "LoviaCompactionDoesNotPay": costly_summaries,
    "LoviaWindowNearlyFull": full_windows,
    "LoviaRequestsRefused": refused_requests,
    "LoviaPrefixUnstable": unstable_prefixes,
    "LoviaRunsFailing": traffic.failed,
    "LoviaRunsTimingOut": traffic.stopped_by_timeout,
    "LoviaArchiveFailing": traffic.archive_failed,
    "LoviaCheckpointsFailing": traffic.checkpoint_failed,
    "LoviaTelemetryLost": traffic.telemetry_lost,
}


def work(what: Callable[[Path], Awaitable[None]], folder: Path) -> None:
    """Let an event loop do it, in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    anyio.run(what, folder)


@contextmanager
def _clock() -> Iterator[_Clock]:
    clock = _Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_scope, "time", clock)
        yield clock


def _policy(*stages: Any, **settings: Any) -> CompactingContextPolicy:
    return CompactingContextPolicy(_WINDOW, keep_recent_entries=4, stages=stages, **settings)


def _looks() -> list[Any]:
    """Return turns whose results together are larger than the window, and an answer."""
    return [*(batch(("look", {}), ("look", {})) for _ in range(8)), text("done")]


async def _run(name: str, policy: Any, *script: Any, **traits: Any) -> None:
    provider = ScriptedProvider(script, summarize=lambda request: "Looked around.", **traits)
    agent = Agent(name=name, model=provider, tools=[traffic.look], context_policy=policy)
    await Runner.run(agent, "go")
