"""The saved form of a policy's memory: small, versioned, checked, and never fatal.

It grows with the number of decisions, not with their text: our own markers are derived from the
transcript again, and only summaries and third-party literals are stored as text. Coverage and
summary are one value. A form that is damaged, of a newer version, or of another transcript is set
aside, never guessed at.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from lovia.context.pipeline.sizing import ModelFacts
from lovia.context.strict import text, whole
from lovia.context.summarizer.breaker import Breaker
from lovia.context.view.decisions import (
    Cleared,
    Clipped,
    Decisions,
    Literal,
    Note,
    Persisted,
    Replacement,
    SummaryText,
)
from lovia.context.view.ranges import Ranges
from lovia.transcript.codec import entry_from_dict, entry_to_dict

__all__ = ["SCHEMA_VERSION", "SavedMemory", "StateUnusable", "load", "save", "set_aside"]

SCHEMA_VERSION: Final = 1
_log = logging.getLogger("lovia.context")


class StateUnusable(ValueError):
    """A saved state cannot be used; the message says why."""


@dataclass
class SavedMemory:
    """What is saved of one conversation.

    Attributes:
        lineage: Identifies the conversation's state through all its versions.
        version: Counts the changes; compared when two processes want to write.
        decisions: What was decided.
        archived: What an archive already keeps.
        chain: Digest of the transcript entries that the decisions refer to, as hexadecimal text.
        breaker: The summarizer's circuit breaker.
        models: What was learned, by provider and model.
        sent: How many entries of the transcript a request was prepared from.
    """

    lineage: str
    version: int = 0
    decisions: Decisions = field(default_factory=Decisions)
    archived: Ranges = field(default_factory=Ranges)
    chain: str = ""
    breaker: Breaker = field(default_factory=Breaker)
    models: dict[str, ModelFacts] = field(default_factory=dict)
    sent: int = 0


def save(memory: SavedMemory) -> dict[str, Any]:
    """Return the JSON-safe form; empty parts are left out."""
    decisions = memory.decisions
    summary = decisions.summary
    data: dict[str, Any] = {
        "v": SCHEMA_VERSION,
        "lineage": memory.lineage,
        "version": memory.version,
        "upto": decisions.upto,
        "chain": memory.chain,
        "summary": None
        if summary is None
        else {
            "text": summary.text,
            "reactive": summary.reactive,
            "covers": decisions.covers.to_json(),
        },
        "snips": decisions.snips.to_json(),
        "dropped": decisions.dropped.to_json(),
        "replaced": _save_replaced(decisions.replaced),
        "notes": [[note.anchor, entry_to_dict(note.entry)] for note in decisions.notes],
        "archived": memory.archived.to_json(),
        "breaker": memory.breaker.to_json(),
        "models": {key: facts.to_json() for key, facts in memory.models.items()},
        "sent": memory.sent or None,
    }
    return {key: value for key, value in data.items() if value not in (None, [], {})}


def load(data: Any) -> SavedMemory:
    """Rebuild what :func:`save` wrote.

    Raises:
        StateUnusable: It is damaged, or of a version that this code does not know.
    """
    if not isinstance(data, Mapping):
        message = f"expected a JSON object, found {type(data).__name__}"
        raise StateUnusable(message)
    version = data.get("v")
    if version != SCHEMA_VERSION:
        message = f"it has schema version {version!r}, this code reads {SCHEMA_VERSION}"
        raise StateUnusable(message)
    try:
        return _load(data)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        message = f"it is damaged ({type(error).__name__}: {error})"
        raise StateUnusable(message) from error
    except Exception as error:
        if type(error).__module__.startswith("lovia."):
            message = f"it holds an entry that cannot be read ({error})"
            raise StateUnusable(message) from error
        raise


def set_aside(state: dict[str, Any], key: str, why: str) -> None:
    """Move an unusable state out of the way, keep it, and warn."""
    state[f"{key}.set_aside"] = state.pop(key, None)
    _log.warning("The saved compaction state was set aside: %s. Compaction starts afresh.", why)


def _load(data: Mapping[str, Any]) -> SavedMemory:
    summary = data.get("summary")
    covers = _ranges(summary["covers"]) if summary else Ranges()
    told = SummaryText(text(summary["text"]), bool(summary.get("reactive"))) if summary else None
    if told is not None and not (told.text and covers):
        message = "a summary without text or without coverage"
        raise ValueError(message)
    notes = data.get("notes", ())
    decisions = Decisions(
        covers=covers,
        summary=told,
        snips=_ranges(data.get("snips", ())),
        dropped=_ranges(data.get("dropped", ())),
        replaced=_load_replaced(data.get("replaced", ())),
        notes=tuple(Note(whole(anchor), entry_from_dict(entry)) for anchor, entry in notes),
    )
    upto = whole(data.get("upto", 0))
    if decisions.upto > upto:
        message = f"its decisions reach to entry {decisions.upto}, its digest only to {upto}"
        raise ValueError(message)
    return SavedMemory(
        lineage=text(data["lineage"]),
        version=whole(data["version"]),
        decisions=decisions,
        archived=_ranges(data.get("archived", ())),
        chain=text(data.get("chain", "")),
        breaker=Breaker.from_json(data.get("breaker", {})),
        models={
            str(key): ModelFacts.from_json(facts) for key, facts in data.get("models", {}).items()
        },
        sent=whole(data.get("sent", 0)),
    )


def _ranges(spans: Iterable[Iterable[Any]]) -> Ranges:
    return Ranges.of([[whole(edge) for edge in span] for span in spans])


def _save_replaced(replaced: Mapping[int, Replacement]) -> list[list[Any]]:
    """Group consecutive entries that are replaced in the same way."""
    ordered = sorted(replaced.items())
    groups = groupby(ordered, key=lambda item: _save_how(item[1]))
    return [[[index for index, _ in items], *how] for how, items in groups]


def _save_how(how: Replacement) -> list[Any]:
    match how:
        case Cleared():
            return ["cleared"]
        case Persisted():
            return ["persisted", how.uri, how.preview]
        case Clipped():
            return ["clipped", how.preview]
        case Literal():
            return ["literal", entry_to_dict(how.entry)]


def _load_replaced(groups: Iterable[Any]) -> dict[int, Replacement]:
    return {
        whole(index): _load_how(kind, rest) for indices, kind, *rest in groups for index in indices
    }


def _load_how(kind: str, rest: list[Any]) -> Replacement:
    match kind, rest:
        case "cleared", []:
            return Cleared()
        case "persisted", [uri, preview]:
            return Persisted(text(uri), whole(preview))
        case "clipped", [preview]:
            return Clipped(whole(preview))
        case "literal", [entry]:
            return Literal(entry_from_dict(entry))
        case _:
            message = f"unknown replacement {kind!r}"
            raise ValueError(message)
