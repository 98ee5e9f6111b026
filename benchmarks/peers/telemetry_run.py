"""Runs with one kind of telemetry, one measurement a line of standard input; see ../telemetry.py.

python telemetry_run.py absent|none|sampled-out|export [ENDPOINT]
"""

from __future__ import annotations

import gc
import json
import logging
import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Self, cast

REPO = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(REPO / "instrumentation"), str(REPO)]

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

ENTRIES: Final = 10_000
TURNS: Final = 60
WARM_UP: Final = 10  # turns that are not measured
SLOW_CALLS: Final = 10
SLOW_SECONDS: Final = 0.2


class _Nothing:
    """Every scope, every function and every value of a telemetry that is not there."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __call__(self, *_: object, **__: object) -> _Nothing:
        return _NOTHING

    def __getattr__(self, name: str) -> _Nothing:
        return _NOTHING

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


_NOTHING: Final = _Nothing()


class _Absent(ModuleType):
    """A `lovia_otel` in which there is nothing."""

    __path__: list[str] = []  # noqa: RUF012 - what a package has

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _unobserved if name == "unobserved" else _Nothing


class _NoCount:
    """Counts nothing: what the stand-in for a model counts is no part of a turn."""

    source = "bytes"

    def text(self, text: str) -> int:
        return 0

    def entry(self, entry: object) -> int:
        return 0

    def entries(self, entries: object) -> int:
        return 0

    def overhead(self, **_: object) -> int:
        return 0


def _unobserved(method: Callable[..., Any]) -> Callable[..., Any]:
    return method


def set_up(mode: str, endpoint: str) -> None:
    """Have this kind of telemetry."""
    if mode == "absent":
        for name in ("", ".content", ".logs", ".names", ".neighbours", ".recorded", ".spans"):
            sys.modules[f"lovia_otel{name}"] = _Absent(f"lovia_otel{name}")
        sys.modules["lovia_otel"].logs = _NOTHING  # type: ignore[attr-defined]
    elif mode == "sampled-out":
        import os

        os.environ["OTEL_TRACES_SAMPLER"] = "always_off"
    if mode in {"sampled-out", "export"}:
        import lovia_otel

        lovia_otel.configure(endpoint, "benchmark")


def send() -> None:
    """Have every span and event sent that waits, so that a run pays for its own and no others."""
    from opentelemetry import _logs, trace

    for provider in (trace.get_tracer_provider(), _logs.get_logger_provider()):
        flush = getattr(provider, "force_flush", None)  # the API's own providers have nothing
        if flush is not None:
            flush()


async def turns() -> dict[str, float]:
    """Return the microseconds that a turn of a long session takes, of this process's processor."""
    from lovia import Agent, CompactingContextPolicy, Runner, tool
    from lovia.testing import AssistantTurn, ScriptedProvider, call, text
    from lovia.tokens import ByteCounter
    from lovia.transcript import AssistantTextEntry, InputEntry, TranscriptEntry

    @tool
    def look(at: int) -> str:
        """Look."""
        return f"seen {at}"

    marks: list[float] = []

    class Provider(ScriptedProvider):
        """Notes when it is asked."""

        async def stream(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
            marks.append(time.process_time())
            async for delta in super().stream(*args, **options):
                yield delta

    script: list[AssistantTurn] = [
        *(call("look", {"at": number}, call_id=f"c{number}") for number in range(TURNS)),
        text("done"),
    ]
    heard: list[TranscriptEntry] = [
        InputEntry("user", f"message {n}") if n % 2 == 0 else AssistantTextEntry(f"answer {n}")
        for n in range(ENTRIES - 1)
    ]
    policy = CompactingContextPolicy(10**9, max_entries=None, token_counter=ByteCounter())
    model = Provider(script, counter=cast("Any", _NoCount()))
    agent = Agent("a", model=model, tools=[look], context_policy=policy)
    gc.collect()
    await Runner.run(agent, heard, max_turns=TURNS + 1)
    took = [after - before for before, after in pairwise(marks)]
    return {"us": statistics.median(took[WARM_UP:]) * 1e6}


async def calls() -> dict[str, float]:
    """Return the microseconds that the telemetry of one model call takes by itself."""
    from lovia_otel import ChatSizes, chat_scope, logs, turn_scope

    def one() -> None:
        with turn_scope(index=1) as turn:
            sizes = ChatSizes(history=90, request=80, window=100, saved=10, source="provider")
            with chat_scope(
                provider="p",
                model="m",
                purpose="turn",
                agent="a",
                session_id="s",
                sizes=sizes,
                view="compacted",
                compacted=True,
                prefix_reused=0.9,
            ) as chat:
                with chat.outside():
                    pass
                chat.settle(input_tokens=80, output_tokens=9, finish_reason="stop")
                chat.content(input_messages=list, output_messages=list)
            turn.settle(tool_calls=0)
        logs.context_measured(pass_id="p", tokens_measured=80)

    count = 2_000
    begin = time.process_time()
    for _ in range(count):
        one()
    return {"us": (time.process_time() - begin) / count * 1e6}


async def slow() -> dict[str, float]:
    """Return the milliseconds that a run with slow model calls takes, on the wall and of work."""
    import anyio

    from lovia import Agent, Runner, tool
    from lovia.testing import ScriptedProvider, call, text

    @tool
    def look(at: int) -> str:
        """Look."""
        return f"seen {at}"

    class Provider(ScriptedProvider):
        """Takes its time."""

        async def stream(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
            await anyio.sleep(SLOW_SECONDS)
            async for delta in super().stream(*args, **options):
                yield delta

    script = [
        *(call("look", {"at": number}, call_id=f"c{number}") for number in range(SLOW_CALLS - 1)),
        text("done"),
    ]
    agent = Agent("a", model=Provider(script), tools=[look])
    send()
    begin, work = time.perf_counter(), time.process_time()
    await Runner.run(agent, "go", max_turns=SLOW_CALLS)
    wall = time.perf_counter() - begin
    send()
    work = time.process_time() - work
    return {"wall_ms": wall * 1e3, "work_ms": work * 1e3}


def main() -> None:
    """Measure what is asked for, until nothing more is."""
    logging.disable()
    set_up(*sys.argv[1:3])
    import anyio

    measures = {"turns": turns, "calls": calls, "slow": slow}
    for line in sys.stdin:
        print(json.dumps(anyio.run(measures[line.strip()])), flush=True)


if __name__ == "__main__":
    main()
