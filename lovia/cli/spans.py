"""Spans as trees for the terminal: run, turns, passes, stages, folds, model calls."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text
from rich.tree import Tree

from lovia.cli.console import printable
from lovia.replay.palette import HISTORY, REQUEST, SAVED, SUMMARY_COST, TROUBLE
from lovia.replay.story import count
from lovia_otel import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lovia_otel import Recording, SpanRecord

__all__ = ["span_trees"]

_SECOND = 1.0
_SILENT = frozenset({"noop", "skipped"})


def span_trees(recording: Recording, *, every: bool = False) -> Iterator[Tree]:
    """Return one tree for each root of a recording.

    Args:
        recording: What was exported.
        every: Show all spans; otherwise turns without a pass and without an error share a line, and
            stages that did nothing are left out.
    """
    for root in recording.roots:
        tree = Tree(_label(root), guide_style="dim")
        _grow(tree, root, recording, every=every)
        yield tree


def _grow(tree: Tree, span: SpanRecord, recording: Recording, *, every: bool) -> None:
    stack = [(tree, span)]
    while stack:
        branch, parent = stack.pop()
        children = recording.children(parent)
        for quiet, group in groupby(children, key=lambda s: not every and _quiet(s, recording)):
            spans = list(group)
            if quiet:
                _add_quiet(branch, spans, recording)
                continue
            stack.extend((branch.add(_label(child)), child) for child in spans)


def _quiet(span: SpanRecord, recording: Recording) -> bool:
    """Tell whether a span may be folded: an uneventful turn, or a stage that did nothing."""
    if span.status == "error":
        return False
    if _is(span, names.SPAN_STAGE):
        return span.attributes.get(names.COMPACTION_OUTCOME) in _SILENT
    if not _is(span, names.SPAN_TURN):
        return False
    below = recording.children(span)
    return not any(_is(s, names.SPAN_PASS) or s.status == "error" for s in below)


def _add_quiet(branch: Tree, spans: list[SpanRecord], recording: Recording) -> None:
    turns = [span for span in spans if _is(span, names.SPAN_TURN)]
    if not turns:
        return
    first, last = (turn.attributes.get(names.TURN_INDEX) for turn in (turns[0], turns[-1]))
    what = f"turn {first}" if len(turns) == 1 else f"turns {first}-{last}"
    sizes = [
        size
        for turn in (turns[0], turns[-1])
        for call in recording.children(turn)
        if isinstance(size := call.attributes.get(names.CONTEXT_REQUEST_TOKENS), int)
    ]
    told = f": request {sizes[0]:,}" if sizes else ""
    if len(turns) > 1 and sizes:
        told += f" to {sizes[-1]:,}"
    told += " tokens" if sizes else ""
    branch.add(Text(f"{what}, no pass{told}", style="dim"))


def _label(span: SpanRecord) -> Text:
    describe = next((d for name, d in _DESCRIPTIONS.items() if _is(span, name)), None)
    text = describe(span.attributes) if describe else Text()
    label = Text.assemble((printable(span.name, limit=80), _style(span)), " ", text)
    if span.status == "error":
        error = span.attributes.get(names.ERROR_TYPE) or span.status_message or "error"
        label.append(f" {printable(str(error))}", style=f"bold {TROUBLE.terminal}")
    label.append(f"  {_duration(span.seconds)}", style="dim")
    return label


def _run(facts: Mapping[str, object]) -> Text:
    turns, passes = facts.get(names.RUN_TURNS), facts.get(names.RUN_COMPACTIONS)
    text = Text(str(facts.get(names.RUN_OUTCOME, "")))
    if turns is not None:
        text.append(f", {_several(turns, 'turn')}, {_several(passes or 0, 'pass', 'passes')}")
    return text


def _turn(facts: Mapping[str, object]) -> Text:
    return Text(str(facts.get(names.TURN_INDEX, "")))


def _pass(facts: Mapping[str, object]) -> Text:
    text = Text.assemble(_word(facts, names.COMPACTION_TRIGGER), ": ", _before_after(facts))
    freed = facts.get(names.COMPACTION_TOKENS_FREED)
    if isinstance(freed, int):
        text.append(f" freed {freed:,}", style=SAVED.terminal)
    text.append(f" {_word(facts, names.COMPACTION_OUTCOME)}", style="bold")
    if names.COMPACTION_REASON in facts:
        text.append(f" by {_word(facts, names.COMPACTION_REASON)}")
    return text


def _stage(facts: Mapping[str, object]) -> Text:
    text = Text.assemble(_word(facts, names.COMPACTION_OUTCOME), " ", _before_after(facts))
    if names.COMPACTION_NOTE in facts:
        text.append(f" {_word(facts, names.COMPACTION_NOTE)}", style="italic")
    return text


def _fold(facts: Mapping[str, object]) -> Text:
    before = _number(facts, names.CHUNK_TOKENS)
    after = _number(facts, names.CHUNK_SUMMARY_TOKENS)
    index = facts.get(names.CHUNK_INDEX)
    number = index + 1 if isinstance(index, int) else "?"
    return Text(f"{number}: {before} tokens into a summary of {after}")


def _chat(facts: Mapping[str, object]) -> Text:
    text = Text(f"({_word(facts, names.INFERENCE_PURPOSE)})")
    for swatch, key in _SIZES:
        if isinstance(facts.get(key), int):
            text.append(f" {swatch.label.lower()} {_number(facts, key)}", style=swatch.terminal)
    if names.CONTEXT_VIEW in facts:
        text.append(f" {_word(facts, names.CONTEXT_VIEW)}")
    summarizes = facts.get(names.INFERENCE_PURPOSE) == names.PURPOSE_SUMMARIZE
    if names.USAGE_INPUT_TOKENS in facts:
        spent = (
            f" counted {_number(facts, names.USAGE_INPUT_TOKENS)} in, "
            f"{_number(facts, names.USAGE_OUTPUT_TOKENS)} out"
        )
        text.append(spent, style=SUMMARY_COST.terminal if summarizes else "")
    return text


def _tool(facts: Mapping[str, object]) -> Text:
    if names.TOOL_RESULT_TOKENS not in facts:
        return Text()
    return Text(f"result {_number(facts, names.TOOL_RESULT_TOKENS)} tokens")


def _archive(facts: Mapping[str, object]) -> Text:
    return Text(f"{_number(facts, names.ARCHIVE_SIZE)} bytes to {_word(facts, names.ARCHIVE_REF)}")


_SIZES = (
    (HISTORY, names.CONTEXT_HISTORY_TOKENS),
    (REQUEST, names.CONTEXT_REQUEST_TOKENS),
    (SAVED, names.CONTEXT_SAVED_TOKENS),
)
_DESCRIPTIONS: Mapping[str, Callable[[Mapping[str, object]], Text]] = {
    names.SPAN_RUN: _run,
    names.SPAN_TURN: _turn,
    names.SPAN_PASS: _pass,
    names.SPAN_STAGE: _stage,
    names.SPAN_FOLD: _fold,
    names.SPAN_CHAT: _chat,
    names.SPAN_TOOL: _tool,
    names.SPAN_ARCHIVE: _archive,
}


def _several(number: object, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _is(span: SpanRecord, name: str) -> bool:
    return span.name == name or span.name.startswith(f"{name} ")


def _style(span: SpanRecord) -> str:
    if span.status == "error":
        return f"bold {TROUBLE.terminal}"
    return "bold cyan" if _is(span, names.SPAN_PASS) else "bold"


def _before_after(facts: Mapping[str, object]) -> Text:
    before = _number(facts, names.COMPACTION_TOKENS_BEFORE)
    after = _number(facts, names.COMPACTION_TOKENS_AFTER)
    return Text(f"{before} -> {after} tokens", style=REQUEST.terminal)


def _word(facts: Mapping[str, object], key: str) -> str:
    return printable(str(facts.get(key, "?")))


def _number(facts: Mapping[str, object], key: str) -> str:
    value = facts.get(key)
    return count(value) if isinstance(value, int) else "?"


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= _SECOND else f"{seconds * 1000:.1f} ms"
