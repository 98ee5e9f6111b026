"""`lovia replay`: recorded transcripts through one policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from lovia.cli.console import print_json, printable, progress, result_console
from lovia.cli.loading import load_sessions, tell
from lovia.cli.settings import contender, summarizer_of
from lovia.cli.tables import estimate_table, totals_line, totals_sentence, turns_table
from lovia.cli.telemetry import exported
from lovia.errors import ContextOverflowError, UserError
from lovia.providers.clients import clients_closed
from lovia.replay.engine import replay
from lovia.replay.report import write_report
from lovia.replay.result import ReplayTotals
from lovia.tokens.estimators import default_counter
from lovia.transcript.pairing import leading_block, newest_user

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lovia.replay.compare import Contender
    from lovia.replay.result import ReplayResult
    from lovia.replay.session import RecordedSession
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["ReplayRequest", "run_replay"]

_BAD_INPUT = 2


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """What the command line asked for; see :func:`lovia.cli.app.replay`."""

    files: tuple[str, ...]
    window: int
    policy: str
    summarizer: str
    feed_usage: bool
    otlp: str | None
    report: Path | None
    json: bool
    timing: bool
    every: bool


def run_replay(request: ReplayRequest) -> int:
    """Replay, print, and return the exit code: 2 when a file or a request could not be had."""
    policy = contender(
        request.policy, window=request.window, summarizer=summarizer_of(request.summarizer)
    )
    _check_report(request.report)
    sessions, complete = load_sessions(request.files)
    if not sessions:
        return _BAD_INPUT
    with exported(request.otlp), progress() as started:

        async def all_of_them() -> list[ReplayResult]:
            async with clients_closed():
                return [
                    await replay(
                        session,
                        policy.build(),
                        window=policy.window,
                        label=policy.label,
                        feed_usage=request.feed_usage,
                        on_turn=started(session.name),
                    )
                    for session in sessions
                ]

        results = anyio.run(all_of_them)
    if request.report is not None:
        write_report(request.report, results, title="Context compaction, replayed")
    if request.json:
        _print_json(results, timing=request.timing)
    else:
        _print_tables(results, policy, request)
    fits = [_check_fit(s, r) for s, r in zip(sessions, results, strict=True)]
    return 0 if complete and all(fits) else _BAD_INPUT


def _print_json(results: Sequence[ReplayResult], *, timing: bool) -> None:
    every = tuple(turn for result in results for turn in result.turns)
    print_json(
        {
            "recordings": [result.to_dict(timing=timing) for result in results],
            "totals": ReplayTotals.of(every).to_dict(timing=timing),
        }
    )


def _print_tables(
    results: Sequence[ReplayResult], policy: Contender, request: ReplayRequest
) -> None:
    console = result_console()
    for result in results:
        window = f"{result.window:,}" if result.window else "unknown"
        source = result.turns[-1].source if result.turns else "nothing"
        console.rule(f"{printable(result.name, limit=60)}", align="left", style="bold")
        console.print(
            f"policy {printable(policy.label)}, window {window} tokens, sizes by {source}"
        )
        console.print(turns_table(result, every=request.every))
        console.print(totals_line(result.totals))
        console.print(totals_sentence(result.totals))
        if result.estimate is not None and result.estimate.segments:
            console.print()
            console.print(estimate_table(result.estimate))
        console.print()
    if len(results) > 1:
        totals = ReplayTotals.of(tuple(turn for result in results for turn in result.turns))
        console.rule(f"all {len(results)} recordings", align="left", style="bold")
        console.print(totals_line(totals))
        console.print(totals_sentence(totals))
    if request.report is not None:
        console.print(f"report: {printable(str(request.report))}", soft_wrap=True)


def _check_report(path: Path | None) -> None:
    """Refuse a report that cannot be written before the work, not after it."""
    if path is None:
        return
    if path.is_dir() or not path.parent.is_dir():
        message = f"Cannot write the report to {path}: no such folder, or it is a folder itself."
        raise UserError(message, hint="Name a file in a folder that exists.")


def _check_fit(session: RecordedSession, result: ReplayResult) -> bool:
    """Say so when calls did not fit the window, whatever the policy left out.

    Returns:
        Whether the window can be meant. It cannot when it is smaller than the newest message of a
        call, which no policy may leave out. Any other overflow is a finding about the recording.
    """
    overflows = [turn for turn in result.turns if turn.overflow]
    if not overflows or result.window is None:
        return True
    worst = max(overflows, key=lambda turn: turn.request)
    before = session.entries[: worst.entries]
    system = default_counter().entries(before[: leading_block(before)])
    message = (
        f"{result.name}: {len(overflows):,} of {len(result.turns):,} calls do not fit the window "
        f"of {result.window:,} tokens. Call {worst.index:,} is the largest, with {worst.request:,} "
        f"tokens; its system messages have about {system:,}, its newest message "
        f"{_newest_message(before):,}."
    )
    hint = f"A window of {worst.request:,} tokens would take it."
    tell(ContextOverflowError(message, hint=hint, reported_window=result.window))
    newest = (_newest_message(session.entries[: turn.entries]) for turn in overflows)
    return max(newest) <= result.window


def _newest_message(entries: Sequence[TranscriptEntry]) -> int:
    """Return the tokens of what has to stay as it is: the newest message and the newest user's."""
    counter, user = default_counter(), newest_user(entries)
    sizes = [counter.entry(entries[-1]), 0 if user is None else counter.entry(entries[user])]
    return max(sizes)
