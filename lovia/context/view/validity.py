"""Whether the decisions that a stage's output amounts to may become the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.context.view.decisions import Decisions, Literal
from lovia.errors import InvalidViewError
from lovia.transcript.entries import ReasoningEntry
from lovia.transcript.pairing import leading_block, newest_user, validate_view

if TYPE_CHECKING:
    from lovia.context.view.rendering import Rendered
    from lovia.context.view.session import SessionView

__all__ = ["check_decisions"]


def check_decisions(decisions: Decisions, rendered: Rendered, view: SessionView) -> None:
    """Check that a view keeps what it has to keep, and that a provider would accept it.

    Raises:
        InvalidViewError: It names the broken rule; the stage's result is then refused.
    """
    _check_protected(decisions, view)
    _check_whole_units(decisions, view)
    _check_notes(decisions, view)
    validate_view(rendered.entries, pending=view.pending)


def _check_protected(decisions: Decisions, view: SessionView) -> None:
    lead = leading_block(view.transcript)
    touched = [k for k in range(lead) if k in decisions.hidden or k in decisions.replaced]
    if touched or any(note.anchor < lead for note in decisions.notes):
        message = "The leading system block was changed."
        hint = "Leave the leading system and developer messages as they are, at the beginning."
        raise InvalidViewError(message, rule="leading_block", index=0, hint=hint)
    newest = newest_user(view.transcript)
    if newest is not None and (newest in decisions.hidden or newest in decisions.replaced):
        message = "The newest user message was removed or changed."
        raise InvalidViewError(message, rule="newest_user", hint="Keep it word for word.")


def _check_whole_units(decisions: Decisions, view: SessionView) -> None:
    """A batch, and a thought with the calls it led to, are hidden together or not at all."""
    hidden, pairing = decisions.hidden, view.pairing
    edges = {k for start, stop in hidden.spans for k in (start, stop - 1)}
    edges.update(late for unit in pairing.units if unit.late for late in (unit.start, *unit.late))
    for index in edges:
        if index >= len(pairing.unit_of):
            continue
        unit = pairing.units[pairing.unit_of[index]]
        states = {k in hidden for k in unit.indices()}
        if len(states) > 1:
            message = (
                f"Entries {unit.start} to {unit.stop - 1} belong together and were torn apart."
            )
            hint = "Remove a thought, its calls and their results together."
            raise InvalidViewError(message, rule="reasoning", index=unit.start, hint=hint)


def _check_notes(decisions: Decisions, view: SessionView) -> None:
    for note in decisions.notes:
        if isinstance(note.entry, ReasoningEntry):
            message = "A reasoning entry was rewritten or added."
            hint = "Keep a reasoning entry byte for byte, or drop it with its whole step."
            raise InvalidViewError(message, rule="reasoning", hint=hint)
        if not view.pairing.is_legal_cut(note.anchor):
            message = (
                f"An entry was added inside a step (before entry {note.anchor} of the transcript)."
            )
            hint = "Add entries between steps only."
            raise InvalidViewError(message, rule="unanswered_call", hint=hint)
    for index, how in decisions.replaced.items():
        if isinstance(how, Literal) and type(how.entry) is not type(view.transcript[index]):
            message = f"Entry {index} of the transcript was replaced by another kind of entry."
            raise InvalidViewError(message, rule="order", hint="Rewrite an entry as its own kind.")
