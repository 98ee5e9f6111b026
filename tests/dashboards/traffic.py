"""A small fleet at work: real runs, by scripted models, that make every kind of telemetry once.

Ordinary work comes first: the demo's session, a handoff, saved runs. Then come the faults that
alerts are about, each in a run of its own.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from anyio import to_thread

from lovia import (
    Agent,
    AutoSummaryStage,
    CompactingContextPolicy,
    ContextPolicyResult,
    FileCompactionArchive,
    InputEntry,
    LLMSummarizer,
    MaxTurnsExceeded,
    ProviderError,
    Runner,
    StageResult,
    Usage,
    events,
    tool,
)
from lovia.demo import DemoSession, Workspace
from lovia.runtime.checkpoint import CheckpointOptions
from lovia.stores import InMemoryCheckpointer, SQLiteCheckpointer
from lovia.testing import ScriptedProvider, batch, call, text
from lovia_otel import Price, PriceTable
from lovia_otel.content import CaptureMode, ContentSettings, restore_content, set_content
from lovia_otel.prices.current import replace_prices, restore_prices
from tests.paths import REPO

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from lovia import PolicyContext, TranscriptEntry

_LARGE: Final = 30_000  # characters of a tool's result: more than the policy sends as it is
_WINDOW: Final = 4_000  # tokens
_PRICE: Final = Price(input=1.25, output=10, cache_read=0.125, cache_write=1.25)
_PRICES: Final = PriceTable("USD", {"scripted": {"scripted": _PRICE, "demo-model": _PRICE}})
_REFUSED: Final = ProviderError("refused", status_code=400, retryable=False)


@tool
def read() -> str:
    """Read something large."""
    return "word " * (_LARGE // 5)


@tool
def look() -> str:
    """Look at something small."""
    return "seen " * 300


@tool
def fail() -> None:
    """Fail."""
    raise KeyError("x")


class RaisingStage:
    """A stage that always raises."""

    name = "raising"

    async def apply(self, entries: list[TranscriptEntry], *, ctx: PolicyContext) -> StageResult:
        """Raise."""
        raise ValueError("no")


class EmptyingStage:
    """A stage whose result is never valid: nothing is left of the conversation."""

    name = "emptying"

    async def apply(self, entries: list[TranscriptEntry], *, ctx: PolicyContext) -> StageResult:
        """Return no entries."""
        return StageResult([], changed=True)


class WordyPolicy:
    """A policy of somebody else's that makes requests larger."""

    async def apply(
        self, entries: list[TranscriptEntry], *, ctx: PolicyContext
    ) -> ContextPolicyResult:
        """Return the transcript with a reminder that nobody asked for."""
        reminder = InputEntry(role="user", content="Remember to be brief. " * 50)
        return ContextPolicyResult([*entries, reminder], changed=True)


class FullCheckpointer(InMemoryCheckpointer):
    """A store of checkpoints that is full."""

    async def append(self, *args: Any, **kwargs: Any) -> Any:
        """Raise."""
        raise OSError(28, "No space left on device")


async def demo(folder: Path) -> None:
    """Run the demo's session."""
    session = await to_thread.run_sync(DemoSession, Workspace(REPO, "lovia"), folder / "demo")
    await session.run(lambda turn: None)


async def handed_over(folder: Path) -> None:
    """Hand over to another agent, in a run that is saved, and use a tool that fails."""
    runs = await to_thread.run_sync(SQLiteCheckpointer, folder / "runs.db")
    await runs.delete("saved")
    other = Agent(name="reviewer", model=_model(call("fail"), text("done")), tools=[fail])
    agent = Agent(name="writer", model=_model(call("transfer_to_reviewer")), handoffs=[other])
    await Runner.run(agent, "go", checkpoint=CheckpointOptions(runs, "saved"))
    await runs.aclose()


async def unmanaged(folder: Path) -> None:
    """Answer after one look, without a policy for the context."""
    await _run("bare", call("look"), text("done"), tools=[look])


async def in_time(folder: Path) -> None:
    """Answer after one look, before the policy has anything to do."""
    policy = CompactingContextPolicy(_WINDOW * 10)
    await _run("brief", call("look"), text("done"), tools=[look], context_policy=policy)


async def made_larger(folder: Path) -> None:
    """Send requests that are larger than what they stand for."""
    await _run("wordy", call("look"), text("done"), tools=[look], context_policy=WordyPolicy())


async def failed(folder: Path) -> None:
    """Ask a model that refuses."""
    await _run("unlucky", _REFUSED)


async def out_of_turns(folder: Path) -> None:
    """Use up the turns of a run."""
    await _run("endless", call("look"), call("look"), tools=[look], max_turns=1)


async def stopped_by_timeout(folder: Path) -> None:
    """Cancel a run while its answer arrives."""
    handle = Runner.stream(Agent(name="slow", model=_model(text("a b c"))), "go")
    async with handle:
        async for event in handle:
            if isinstance(event, events.TextDelta):
                handle.cancel("timeout")


async def stages_failed(folder: Path) -> None:
    """Compact with stages that raise, or return what cannot be sent."""
    for stages in ([RaisingStage()], [EmptyingStage()]):
        policy = CompactingContextPolicy(_WINDOW, stages=stages)
        await _run("odd", *_looks(), text("done"), tools=[look], context_policy=policy)


async def summaries_failed(folder: Path) -> None:
    """Compact with a summarizer that is refused."""
    stages = [AutoSummaryStage(LLMSummarizer())]
    policy = CompactingContextPolicy(_WINDOW, keep_recent_entries=4, stages=stages)
    provider = _model(*_looks(), text("done"), summarize=lambda request: _REFUSED)
    await _run("mute", provider=provider, tools=[look], context_policy=policy)


async def archive_failed(folder: Path) -> None:
    """Compact with an archive that cannot write."""
    taken = folder / "taken"
    await to_thread.run_sync(taken.touch)  # a file where the archive wants a folder
    archive = await to_thread.run_sync(FileCompactionArchive, taken)
    policy = CompactingContextPolicy(_WINDOW * 10, archive=archive)
    await _run("forgetful", call("read"), text("done"), tools=[read], context_policy=policy)


async def checkpoint_failed(folder: Path) -> None:
    """Save a run where there is no room."""
    saved = CheckpointOptions(FullCheckpointer(), "unsaved")
    await _run("unsaved", text("done"), checkpoint=saved)


async def telemetry_lost(folder: Path) -> None:
    """Capture content with a redaction hook that raises."""
    with _content_captured(_broken_hook):
        await _run("careful", text("done"))


async def without_a_price(folder: Path) -> None:
    """Ask a model whose price nobody knows."""
    await _run("new", provider=_model(text("done"), model="brand-new"))


#: What the fleet does, in order.
WORK: Final[tuple[Callable[[Path], Awaitable[None]], ...]] = (
    demo,
    handed_over,
    made_larger,
    failed,
    out_of_turns,
    stopped_by_timeout,
    stages_failed,
    summaries_failed,
    archive_failed,
    checkpoint_failed,
    telemetry_lost,
    without_a_price,
)


async def everything(folder: Path) -> None:
    """Do all of it, one after the other; `folder` is where archives are."""
    with priced():
        for work in WORK:
            await work(folder)


def _model(*script: Any, **traits: Any) -> ScriptedProvider:
    """Return a model on a script, whose provider has a prompt cache and counts what it serves."""
    spent = Usage(input_tokens=100, output_tokens=10, cache_read_tokens=60)
    return ScriptedProvider(script, usage=spent, **traits)


def _looks() -> list[Any]:
    """Return turns whose results together are larger than the window."""
    return [batch(("look", {}), ("look", {})) for _ in range(8)]


async def _run(
    name: str, *script: Any, provider: ScriptedProvider | None = None, **settings: Any
) -> None:
    """Run an agent to its end, whatever that is."""
    of_run = {key: settings.pop(key) for key in ("max_turns", "checkpoint") if key in settings}
    agent = Agent(name=name, model=provider or _model(*script), **settings)
    with suppress(ProviderError, MaxTurnsExceeded, OSError):  # how it ended is in the telemetry
        await Runner.run(agent, "go", **of_run)


def _broken_hook(content: str) -> str:
    raise RuntimeError("the hook is broken")


@contextmanager
def priced(table: PriceTable = _PRICES) -> Iterator[None]:
    """Have the fleet's models at these prices."""
    mine, before = replace_prices(table)
    try:
        yield
    finally:
        restore_prices(mine, before)


@contextmanager
def _content_captured(redact: Callable[[str], str]) -> Iterator[None]:
    settings = ContentSettings(CaptureMode.SPAN_AND_EVENT, redact)
    previous = set_content(settings)
    try:
        yield
    finally:
        restore_content(settings, previous)
