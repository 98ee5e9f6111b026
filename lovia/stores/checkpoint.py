"""What is saved of a run: an append-only log of entries and one small head."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias, runtime_checkable

from pydantic_core import to_jsonable_python

from lovia.errors import CheckpointDamaged, TranscriptFormatError
from lovia.stores.marks import LogMark, RunProgress, SessionMark
from lovia.transcript.codec import entry_from_dict, entry_to_dict
from lovia.transcript.digest import PrefixChain
from lovia.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lovia.transcript.entries import ToolResultEntry, TranscriptEntry

__all__ = ["CallLog", "Checkpointer", "RunHead", "RunOutcome", "RunSnapshot", "RunStatus"]

#: ``running`` also when the process died; ``interrupted``: cancelled, at a limit, or suspended.
RunStatus: TypeAlias = Literal["running", "interrupted", "completed", "failed"]
#: How a run ended, in the words of its telemetry.
RunOutcome: TypeAlias = Literal["completed", "failed", "cancelled", "limit_reached", "suspended"]

_HINT = "Start the run anew with if_run_exists='restart'."


@dataclass
class RunHead:
    """All of a saved run but its entries; small, and written anew with every save.

    Attributes:
        agent_name: The agent that is active.
        usage: What the run's model calls spent so far.
        turns: Turns made.
        status: Whether the run is still going, and if not, how it stopped.
        output: The final answer in a JSON-safe form, when the run completed.
        error: ``type`` and ``message`` of what ended the run otherwise.
        last_input_tokens: Prompt tokens of the last model call.
        context_state: The memory of context policies, JSON-safe. It is the run's live memory: a
            store that keeps it has to copy it.
        updated_at: When it was saved, in seconds since the epoch.
        pending_handoff: The agent that a handoff was fired to which is not active yet.
        started_at: When the run first started, in seconds since the epoch.
        outcome: How the run ended, in finer words than ``status``; ``None`` while it is going.
        context_revision: Names the content of ``context_state``: as long as it is the same, a store
            need not write the state again.
        log: Where the log of entries ends with this save.
        progress: What a resumed run goes on from.
        session: What the run saw of its conversation, when it has one.
    """

    agent_name: str
    usage: Usage
    turns: int
    status: RunStatus = "running"
    output: Any | None = None
    error: dict[str, Any] | None = None
    last_input_tokens: int | None = None
    context_state: dict[str, Any] = field(default_factory=dict)
    updated_at: float = field(default_factory=time.time)
    pending_handoff: str | None = None
    started_at: float | None = None
    outcome: RunOutcome | None = None
    context_revision: str | None = None
    log: LogMark | None = None
    progress: RunProgress = field(default_factory=RunProgress)
    session: SessionMark | None = None

    def to_dict(self, *, with_state: bool = True) -> dict[str, Any]:
        """Return the JSON-safe form; what is unset is left out.

        Args:
            with_state: Whether ``context_state`` is part of it.
        """
        data = {name: getattr(self, name) for name in _PLAIN}
        data["usage"] = self.usage.to_dict()
        data["output"] = to_jsonable_python(self.output, fallback=str)
        data["context_state"] = self.context_state if with_state else None
        for name in ("log", "progress", "session"):
            mark = getattr(self, name)
            data[name] = mark.to_dict() if mark is not None else None
        return {name: value for name, value in data.items() if value is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a head from :meth:`to_dict`; unknown fields are passed over."""
        known: dict[str, Any] = {name: data[name] for name in _PLAIN if name in data}
        return cls(
            **known,
            usage=Usage.from_dict(data.get("usage") or {}),
            output=data.get("output"),
            context_state=dict(data.get("context_state") or {}),
            log=LogMark.from_dict(data.get("log")),
            progress=RunProgress.from_dict(data.get("progress")),
            session=SessionMark.from_dict(data.get("session")),
        )

    def to_json(self, *, with_state: bool = True) -> str:
        """Return :meth:`to_dict` as JSON text, in ASCII."""
        return json.dumps(self.to_dict(with_state=with_state))

    @classmethod
    def from_json(cls, payload: str) -> Self:
        """Rebuild a head from :meth:`to_json`."""
        return cls.from_dict(json.loads(payload))


_NOT_PLAIN = {"usage", "output", "context_state", "log", "progress", "session"}
_PLAIN = tuple(f.name for f in fields(RunHead) if f.name not in _NOT_PLAIN)
_HEAD = tuple(f.name for f in fields(RunHead))


@dataclass(kw_only=True)
class RunSnapshot(RunHead):
    """A run as it was saved last.

    Attributes:
        run_id: Names the run.
        entries: The run's own part of the transcript: its input and everything it added. What was
            said before in the conversation is in the session.
        calls: The tool calls that had begun, by the position of the call in ``entries``, with the
            result of those that were done before an earlier one of the same turn.
    """

    run_id: str
    entries: list[TranscriptEntry]
    calls: dict[int, ToolResultEntry | None] = field(default_factory=dict)

    @property
    def head(self) -> RunHead:
        """Everything but the entries."""
        return RunHead(**{name: getattr(self, name) for name in _HEAD})

    @classmethod
    def from_parts(
        cls,
        run_id: str,
        entries: list[TranscriptEntry],
        head: RunHead,
        *,
        calls: Mapping[int, ToolResultEntry | None] | None = None,
    ) -> Self:
        """Put a snapshot together from what a store keeps, and check that it fits.

        Entries after those that the head speaks of are left out: a save that was interrupted before
        its head was written did not happen.

        Raises:
            CheckpointDamaged: Entries are missing, or they are not those that were saved.
        """
        parts = {name: getattr(head, name) for name in _HEAD}
        if head.log is not None:
            entries = _checked(run_id, entries, head.log)
        return cls(**parts, run_id=run_id, entries=entries, calls=dict(calls or {}))

    def checked(self) -> Self:
        """Return the snapshot when it is whole; see :meth:`from_parts`."""
        return self.from_parts(self.run_id, self.entries, self.head, calls=self.calls)

    def to_dict(self, *, with_state: bool = True) -> dict[str, Any]:
        """Return the JSON-safe form, entries included."""
        calls = {
            str(position): None if result is None else entry_to_dict(result)
            for position, result in self.calls.items()
        }
        entries = [entry_to_dict(entry) for entry in self.entries]
        head = super().to_dict(with_state=with_state)
        return {"run_id": self.run_id, **head, "calls": calls, "entries": entries}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a snapshot from :meth:`to_dict`.

        Raises:
            TranscriptFormatError: Something among the entries is none.
            CheckpointDamaged: The entries are not those that were saved.
        """
        calls: dict[int, Any] = {
            int(position): None if result is None else entry_from_dict(result)
            for position, result in (data.get("calls") or {}).items()
        }
        entries = [entry_from_dict(entry) for entry in data["entries"]]
        return cls.from_parts(data["run_id"], entries, RunHead.from_dict(data), calls=calls)


def _checked(run_id: str, entries: list[TranscriptEntry], log: LogMark) -> list[TranscriptEntry]:
    if len(entries) < log.entries:
        message = f"Run {run_id!r} was saved with {log.entries} entries; {len(entries)} are there."
        raise CheckpointDamaged(message, hint=_HINT, run_id=run_id)
    kept = entries if len(entries) == log.entries else entries[: log.entries]
    if PrefixChain(kept).value().hex() != log.chain:
        message = f"The entries of run {run_id!r} are not those that were saved."
        raise CheckpointDamaged(message, hint=_HINT, run_id=run_id)
    return kept


@runtime_checkable
class Checkpointer(Protocol):
    """Keeps runs by their id, each as a log of entries that only grows and a head.

    The id alone names a run: who shares a checkpointer has to choose ids that are unique in it.
    Methods raise whatever the storage raises; a run that cannot be saved fails.
    """

    async def append(
        self, run_id: str, entries: list[TranscriptEntry], head: RunHead
    ) -> int | None:
        """Add entries to a run's log and replace its head, both or neither.

        ``entries`` may be empty. A store that looks at ``head.log`` can tell when somebody else has
        saved the run in the meantime: the save before this one has the number
        ``head.log.sequence - 1``, and the log had ``head.log.entries - len(entries)`` entries.

        Returns:
            The bytes that were written, when the store knows.

        Raises:
            CheckpointConflict: Somebody else has saved the run since.
        """
        ...

    async def load(self, run_id: str) -> RunSnapshot | None:
        """Return the run as it was saved last, or ``None`` when it is unknown.

        Raises:
            CheckpointDamaged: What is there is not what was saved.
        """
        ...

    async def delete(self, run_id: str) -> None:
        """Forget a run; an unknown one is none the less forgotten."""
        ...


@runtime_checkable
class CallLog(Protocol):
    """What a checkpointer may have beside :class:`Checkpointer`: a note for each call that begins.

    With it a tool call costs one small write before it runs. Without it a run writes its head in
    that place.
    """

    async def begin(self, run_id: str, position: int) -> None:
        """Note that a call is about to run, by its position in the run's own entries.

        Raises:
            CheckpointConflict: It has begun already.
        """
        ...

    async def withdraw(self, run_id: str, position: int) -> None:
        """Take a note back: the call was stopped before it ran."""
        ...

    async def finish(self, run_id: str, position: int, result: ToolResultEntry) -> None:
        """Keep the result of a call that is done before an earlier one of its turn."""
        ...


def load_json(text: str, run_id: str) -> Any:
    """Return the value of a JSON text that a store kept for a run.

    Raises:
        CheckpointDamaged: It is no JSON any more.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        message = f"What is stored of run {run_id!r} is no JSON: {error}"
        raise CheckpointDamaged(message, hint=_HINT, run_id=run_id) from error


def load_entry(text: str, run_id: str) -> TranscriptEntry:
    """Return an entry that a store kept for a run.

    Raises:
        CheckpointDamaged: It is no entry any more.
    """
    try:
        return entry_from_dict(load_json(text, run_id))
    except TranscriptFormatError as error:
        message = f"An entry of run {run_id!r} is damaged: {error.message}"
        raise CheckpointDamaged(message, hint=_HINT, run_id=run_id) from error
