"""Marks in a saved run: where its log ends, how far it is, what it saw of its conversation."""

from __future__ import annotations

from dataclasses import Field, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LogMark", "RunProgress", "SessionMark"]


class _Mark:
    """The JSON form of a mark: its fields, without those that have their default."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-safe form."""
        values = ((f, getattr(self, f.name)) for f in fields(self))
        return {f.name: value for f, value in values if value != f.default}

    @classmethod
    def _known(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        return {f.name: data[f.name] for f in fields(cls) if f.name in data}


@dataclass(frozen=True)
class LogMark(_Mark):
    """Where the log of a run ends.

    Attributes:
        sequence: The number of the save, from 1.
        entries: How many entries the log holds.
        chain: Digest of all of them in order, as hexadecimal text.
    """

    sequence: int
    entries: int = 0
    chain: str = ""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> Self | None:
        """Rebuild a mark from :meth:`to_dict`."""
        return None if data is None else cls(**{"sequence": 0, **cls._known(data)})


@dataclass(frozen=True)
class RunProgress(_Mark):
    """How far a run is, beyond its entries. Positions count the run's own entries from 0.

    Attributes:
        reply_at: Where the model's last answer begins, until its turn is finished.
        begun: Calls of that turn that have begun, where the store has no log of calls.
        waiting: Calls of that turn that wait for approval.
        decisions: Answers to approvals of calls that have not begun, by position.
        repairs: Answers that did not have the requested type.
        tool_calls: Tool calls that counted against the budget.
        seconds: For how long the run was going, idle time between resumptions left out.
        finish_reason: Why the last answer ended.
        traceparent: The W3C ``traceparent`` of the run's span, for a link when it is resumed.
        turn_calls: How many of ``tool_calls`` are of that turn.
    """

    reply_at: int | None = None
    begun: tuple[int, ...] = ()
    waiting: tuple[int, ...] = ()
    decisions: Mapping[str, bool] | None = None
    repairs: int = 0
    tool_calls: int = 0
    seconds: float = 0.0
    finish_reason: str | None = None
    traceparent: str | None = None
    turn_calls: int = 0

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> Self:
        """Rebuild a mark from :meth:`to_dict`."""
        known = cls._known(data or {})
        for name in ("begun", "waiting"):
            known[name] = tuple(known.get(name, ()))
        return cls(**known)


@dataclass(frozen=True)
class SessionMark(_Mark):
    """What a run saw of its conversation when it first started.

    Attributes:
        session_id: The conversation.
        version: Its version.
        entries: How many entries it had.
        chain: Digest of all of them in order, as hexadecimal text.
    """

    session_id: str
    version: int | None = None
    entries: int = 0
    chain: str = ""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> Self | None:
        """Rebuild a mark from :meth:`to_dict`."""
        return None if data is None else cls(**{"session_id": "", **cls._known(data)})
