"""Whether decisions may become the memory, and what is left of decisions that may not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ParamSpec

from lovia.context.view.decisions import Clipped, Decisions, Literal, Note, Replacement
from lovia.errors import InvalidViewError
from lovia.transcript.entries import AssistantTextEntry, InputEntry, ToolCallEntry, ToolResultEntry
from lovia.transcript.pairing import leading_block, newest_user
from lovia.transcript.validation import validate_view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lovia.context.view.rendering import Rendered
    from lovia.context.view.session import SessionView
    from lovia.transcript.pairing import Unit

__all__ = ["allowed_decisions", "check_decisions"]

_P = ParamSpec("_P")


def check_decisions(decisions: Decisions, rendered: Rendered, view: SessionView) -> None:
    """Check that a view keeps what it has to keep, and that a provider would accept it.

    Raises:
        InvalidViewError: It names the broken rule; the stage's result is then refused.
    """
    _check_protected(decisions, view)
    for unit in _torn_units(decisions, view):
        message = f"Entries {unit.start} to {unit.stop - 1} belong together and were torn apart."
        hint = "Remove a thought, its calls and their results together."
        raise InvalidViewError(message, rule="reasoning", index=unit.start, hint=hint)
    for index, how in decisions.replaced.items():
        _check_replacement(index, how, view)
    for note in decisions.notes:
        _check_note(note, view)
    validate_view(rendered.entries, pending=view.pending)


def allowed_decisions(decisions: Decisions, view: SessionView) -> tuple[Decisions, Rendered]:
    """Return what a transcript allows of decisions that were loaded, and the view that it gives.

    When in doubt more is shown: a batch that is hidden in part is shown whole again, and so are the
    leading block and the newest user message; a note inside a step stands before it, and what
    stands where it must not is left out.

    Raises:
        InvalidViewError: A provider would refuse the view all the same.
    """
    protected = _protected(view)
    decisions = decisions.move_notes(view.pairing.cut_at_or_before)
    shown = {k for unit in _torn_units(decisions, view) for k in unit.indices()} | protected
    allowed = replace(
        decisions.reveal(index for index in shown if index in decisions.hidden),
        replaced={
            index: how
            for index, how in decisions.replaced.items()
            if index not in protected and _is_allowed(_check_replacement, index, how, view)
        },
        notes=tuple(note for note in decisions.notes if _is_allowed(_check_note, note, view)),
    )
    rendered = view.preview(allowed)
    if allowed:
        check_decisions(allowed, rendered, view)
    return allowed, rendered


def _is_allowed(check: Callable[_P, None], *args: _P.args, **kwargs: _P.kwargs) -> bool:
    try:
        check(*args, **kwargs)
    except InvalidViewError:
        return False
    return True


def _protected(view: SessionView) -> set[int]:
    """Return the indices that every view shows as they are, whatever a stage or a user wants."""
    newest = newest_user(view.transcript)
    return {*range(leading_block(view.transcript)), *([] if newest is None else [newest])}


def _check_protected(decisions: Decisions, view: SessionView) -> None:
    touched = [k for k in _protected(view) if k in decisions.hidden or k in decisions.replaced]
    if not touched:
        return
    if min(touched) < leading_block(view.transcript):
        message = "The leading system block was changed."
        hint = "Leave the leading system and developer messages as they are, at the beginning."
        raise InvalidViewError(message, rule="leading_block", index=0, hint=hint)
    message = "The newest user message was removed or changed."
    raise InvalidViewError(message, rule="newest_user", hint="Keep it word for word.")


def _torn_units(decisions: Decisions, view: SessionView) -> Iterator[Unit]:
    """Yield units that are hidden in part: a batch, or a thought with the calls it led to."""
    hidden, pairing = decisions.hidden, view.pairing
    edges = {k for start, stop in hidden.spans for k in (start, stop - 1)}
    edges.update(late for unit in pairing.units if unit.late for late in (unit.start, *unit.late))
    for number in sorted({pairing.unit_of[k] for k in edges if k < len(pairing.unit_of)}):
        unit = pairing.units[number]
        if len({k in hidden for k in unit.indices()}) > 1:
            yield unit


def _check_replacement(index: int, how: Replacement, view: SessionView) -> None:
    original = view.transcript[index]
    shows = how.entry if isinstance(how, Literal) else original
    is_call = isinstance(original, ToolCallEntry) and isinstance(how, (Clipped, Literal))
    if not (is_call or isinstance(original, ToolResultEntry)):
        message = f"Entry {index} of the transcript cannot be shown in another form."
        hint = "Rewrite calls and results only; remove other entries and add your own."
        raise InvalidViewError(message, rule="order", index=index, hint=hint)
    same_id = getattr(shows, "call_id", None) == getattr(original, "call_id", None)
    if type(shows) is not type(original) or not same_id:
        message = f"Entry {index} of the transcript was replaced by another kind of entry."
        hint = "Rewrite a call as a call and a result as a result, with the same id."
        raise InvalidViewError(message, rule="order", index=index, hint=hint)


def _check_note(note: Note, view: SessionView) -> None:
    if not isinstance(note.entry, (InputEntry, AssistantTextEntry)):
        message = f"A {type(note.entry).__name__} was rewritten or added."
        hint = "Add messages only; keep a thought byte for byte, or drop it with its whole step."
        raise InvalidViewError(message, rule="reasoning", hint=hint)
    if note.anchor < leading_block(view.transcript):
        message = "An entry was added before the end of the leading system block."
        raise InvalidViewError(message, rule="leading_block", index=0, hint="Add it after that.")
    if not view.pairing.is_legal_cut(note.anchor):
        message = (
            f"An entry was added inside a step (before entry {note.anchor} of the transcript)."
        )
        hint = "Add entries between steps only."
        raise InvalidViewError(message, rule="unanswered_call", hint=hint)
