"""`lovia inspect`: what is in a transcript, and what is odd about it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from lovia.cli.console import print_json, printable, result_console
from lovia.cli.loading import tell
from lovia.errors import LoviaError, UserError
from lovia.replay.engine import model_calls
from lovia.tokens.estimators import default_counter
from lovia.transcript.facts import summarize_transcript
from lovia.transcript.formats import read_recording
from lovia.transcript.problems import find_problems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from lovia.transcript.formats import Recording

__all__ = ["run_inspect"]

_BAD_INPUT = 2
#: Problems and notes that are shown one by one; the rest is counted, and the JSON has all of them.
_SHOWN = 20


def run_inspect(files: Sequence[str], *, format: str | None, as_json: bool) -> int:
    """Print what transcripts hold; the exit code is 2 when a file cannot be read.

    Raises:
        UserError: No file was named.
        LoviaError: The only file cannot be read.
    """
    if not files:
        message = "No transcript was named."
        raise UserError(message, hint="Name at least one file, such as session.json.")
    found: list[Recording] = []
    for file in files:
        try:
            found.append(read_recording(file, format))
        except LoviaError as error:
            if len(files) == 1:
                raise
            tell(error)
    inspected = [_inspect(recording) for recording in found]
    if as_json:
        print_json(inspected)
    else:
        console = result_console()
        for facts in inspected:
            _print(console, facts)
    return 0 if len(found) == len(files) else _BAD_INPUT


def _inspect(recording: Recording) -> dict[str, Any]:
    """Return all that is said about a transcript, JSON-safe."""
    counter, entries = default_counter(), recording.entries
    facts = summarize_transcript(entries)
    tokens: Counter[str] = Counter()
    for entry in entries:
        tokens[entry.type] += counter.entry(entry)
    return {
        "source": recording.source,
        "format": recording.format,
        "messages": len(set(recording.messages)),
        "entries": len(entries),
        "model_calls": len(model_calls(entries)),
        "estimated_tokens": sum(tokens.values()),
        "kinds": {
            kind: {
                "entries": number,
                "characters": facts.characters[kind],
                "estimated_tokens": tokens[kind],
            }
            for kind, number in facts.entries.items()
        },
        "images": facts.images,
        "files": facts.files,
        "batches": facts.batches,
        "most_parallel_calls": facts.most_parallel_calls,
        "tools": dict(facts.calls),
        "largest_results": [
            {
                "entry": result.index,
                "tool": result.tool,
                "characters": result.characters,
                "estimated_tokens": counter.entry(entries[result.index]),
            }
            for result in facts.largest_results
        ],
        "problems": [
            {"entry": problem.index, "kind": problem.kind, "message": problem.message}
            for problem in find_problems(entries, messages=recording.messages)
        ],
        "notes": [{"position": note.position, "text": note.text} for note in recording.notes],
    }


def _print(console: Console, facts: dict[str, Any]) -> None:
    console.rule(printable(facts["source"], limit=100), align="left", style="bold")
    console.print(
        f"{facts['format']}: {facts['messages']:,} messages, {facts['entries']:,} entries, "
        f"{facts['model_calls']:,} model calls, about {facts['estimated_tokens']:,} tokens"
    )
    console.print(
        f"{facts['batches']:,} batches of tool calls, at most {facts['most_parallel_calls']:,} in "
        f"parallel; {facts['images']:,} images, {facts['files']:,} files"
    )
    console.print(_kinds(facts["kinds"]))
    if facts["tools"]:
        used = ", ".join(f"{printable(name, limit=40)} {n:,}" for name, n in facts["tools"].items())
        console.print(f"calls: {used}", soft_wrap=True)
    if facts["largest_results"]:
        console.print(_largest(facts["largest_results"]))
    _print_list(console, "problem", facts["problems"], lambda p: (f"entry {p['entry']}", p["kind"]))
    _print_list(console, "note", facts["notes"], lambda n: (n["position"] or "the file", ""))
    console.print()


def _kinds(kinds: dict[str, dict[str, int]]) -> Table:
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("kind")
    for name in ("entries", "characters", "tokens, estimated"):
        table.add_column(name, justify="right")
    for kind, sizes in kinds.items():
        table.add_row(kind, *(f"{size:,}" for size in sizes.values()))
    return table


def _largest(results: list[dict[str, Any]]) -> Table:
    table = Table(
        title="Largest tool results",
        title_justify="left",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for name in ("entry", "characters", "tokens, estimated"):
        table.add_column(name, justify="right")
    table.add_column("tool")
    for result in results:
        table.add_row(
            f"{result['entry']:,}",
            f"{result['characters']:,}",
            f"{result['estimated_tokens']:,}",
            printable(result["tool"] or "unknown", limit=60),
        )
    return table


def _print_list(console: Console, word: str, items: list[dict[str, Any]], head: Any) -> None:
    if not items:
        console.print(f"no {word}s")
        return
    console.print(f"{len(items):,} {word}{'s' if len(items) > 1 else ''}:")
    for item in items[:_SHOWN]:
        where, kind = head(item)
        text = item.get("message") or item.get("text")
        lead = f"  {printable(str(where), limit=60)}" + (f" [{kind}]" if kind else "")
        console.print(f"{lead}: {printable(str(text))}", soft_wrap=True)
    if len(items) > _SHOWN:
        console.print(f"  and {len(items) - _SHOWN:,} more; --json lists all")
