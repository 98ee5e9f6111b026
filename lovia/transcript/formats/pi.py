"""Session logs of the pi coding agent: a header, then messages and other rows, one a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lovia.transcript.entries import InputEntry, ToolResultEntry, TranscriptEntry
from lovia.transcript.formats.blocks import input_entries, model_entries, tool_output

if TYPE_CHECKING:
    from lovia.transcript.formats.document import Document, Reading
    from lovia.transcript.located import Located

__all__ = ["read", "recognises"]

_ROLES: Final = ("user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage")
_SUMMARIES: Final = ("compactionSummary", "branchSummary")
_LEFT_OUT: Final = {
    "compaction": "A compaction by the recording tool was left out: the history is whole.",
    "branch_summary": "A summary of an abandoned branch was left out.",
}


def recognises(document: Document) -> bool:
    """Tell whether a row wraps a message in ``message`` and says so in its type."""
    return any(
        isinstance(row.value, dict)
        and row.value.get("type") == "message"
        and isinstance(row.value.get("message"), dict)
        for row in document.rows
    )


def read(document: Document, into: Reading) -> None:
    """Read the messages of the session's last branch; other rows are no part of what was said."""
    for row in _last_branch(document.rows, into):
        row.object("a row (an object with a type)")
        kind = row.at("type").text()
        if kind == "message":
            _add_message(row.at("message"), into)
        elif kind == "custom_message":
            into.add(input_entries("user", row.at("content"), into))
        elif kind in _LEFT_OUT:
            into.note(row, _LEFT_OUT[kind])


def _last_branch(rows: list[Located], into: Reading) -> list[Located]:
    """Follow a session tree from its last row back to the root; an older, linear log is whole."""
    linked = [row for row in rows if isinstance(row.value, dict) and "parentId" in row.value]
    if not linked:
        return rows
    by_id = {row.at("id").identifier(): row for row in linked}
    branch: dict[str, Located] = {}
    row: Located | None = linked[-1]
    while row is not None and row.at("id").identifier() not in branch:
        branch[row.at("id").identifier()] = row
        row = by_id.get(row.at("parentId").identifier())
    if len(branch) < len(linked):
        count = len(linked) - len(branch)
        into.note(linked[-1], f"{count} rows on abandoned branches of the session were left out.")
    return list(reversed(branch.values()))


def _add_message(message: Located, into: Reading) -> None:
    message.object("a message (an object with a role)")
    role = message.at("role").choice((*_ROLES, *_SUMMARIES))
    if role in _SUMMARIES:
        into.note(message, "A summary by the recording tool was left out.")
        return
    into.add(_entries(message, role, into))


def _entries(message: Located, role: str, into: Reading) -> list[TranscriptEntry]:
    content = message.at("content")
    if role == "assistant":
        return model_entries(content, into, provider=message.at("provider").optional_text())
    if role == "toolResult":
        output, parts = tool_output(content, into)
        call_id = message.at("toolCallId").identifier()
        return [ToolResultEntry(call_id, output, message.at("isError").flag(), parts)]
    if role == "bashExecution":
        return [InputEntry("user", _shell_session(message))]
    return input_entries("user", content, into)


def _shell_session(message: Located) -> str:
    """Write a command that the user ran beside the conversation as the model was told of it."""
    output = message.at("output").text("")
    text = f"Ran `{message.at('command').text('')}`\n```\n{output}\n```"
    code = message.at("exitCode").value
    if isinstance(code, int) and code:
        text += f"\nExit code: {code}"
    return text + ("\nThe user cancelled it." if message.at("cancelled").flag() else "")
