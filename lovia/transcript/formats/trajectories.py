"""Trajectories of benchmark agents: Chat Completions messages beside the outcome of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lovia.transcript.formats.openai_chat import chat_message

if TYPE_CHECKING:
    from lovia.transcript.formats.document import Document, Reading
    from lovia.transcript.located import Located

__all__ = ["read_swe_agent", "read_tau_bench", "recognises_swe_agent", "recognises_tau_bench"]


def recognises_swe_agent(document: Document) -> bool:
    """Tell whether the object has a ``history`` of messages beside its ``trajectory`` of steps."""
    history = document.member("history")
    return (
        document.member("trajectory") is not None
        and history is not None
        and isinstance(history.value, list)
    )


def read_swe_agent(document: Document, into: Reading) -> None:
    """Read the ``history`` of a SWE-agent run; the steps in ``trajectory`` repeat it."""
    history = document.member("history")
    if history is None:
        raise document.error(
            "expected an object with a history of messages.",
            expected="an object with `history`",
            hint="This is not the trajectory of a SWE-agent run.",
        )
    _read(history, into)


def recognises_tau_bench(document: Document) -> bool:
    """Tell whether every row is an object with the messages of a run in ``traj``."""
    rows = document.rows
    return bool(rows) and all(
        isinstance(row.value, dict) and isinstance(row.value.get("traj"), list) for row in rows
    )


def read_tau_bench(document: Document, into: Reading) -> None:
    """Read the one run in a tau-bench file.

    Raises:
        TranscriptFormatError: The file holds several runs, which are different conversations.
    """
    if len(document.rows) != 1:
        raise document.error(
            f"this file holds {len(document.rows)} runs, which are conversations of their own.",
            expected="one run",
            hint="Write the run that you want (one element of the list) to a file.",
        )
    _read(document.rows[0].at("traj"), into)


def _read(messages: Located, into: Reading) -> None:
    for message in messages.items("a list of messages"):
        into.add(chat_message(message, into))
