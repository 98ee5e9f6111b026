"""What each event tells, read from it by name so that no runtime has to be imported.

An event is known by the name of its class (or of one of its bases), its facts by the names of their
attributes; of two shapes that an attribute may have (the 0.9 line keeps sizes and summary in
``notice``) the first that is there counts. Facts are taken at once, told later.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lovia_otel import logs, names, providers, recorded
from lovia_otel.counters import record_cancellation, record_handoff
from lovia_otel.facts import clean
from lovia_otel.logs import Actor, Moment
from lovia_otel.recorded import view_key
from lovia_otel.spans.run import current_run

if TYPE_CHECKING:
    from collections.abc import Mapping

Telling = Callable[[Moment], None]

_MOST_OPEN: Final = 1_000  # passes that began and have not ended
_USEFUL: Final = (names.COMPACTED, names.PARTIAL)


@dataclass(frozen=True)
class _Begun:
    """A pass that began: why, and when on the monotonic clock, in seconds."""

    trigger: str | None
    clock: float


class Passes:
    """The passes that are under way, by id, so that the event of an end can tell how long."""

    def __init__(self) -> None:
        self._begun: dict[object, _Begun] = {}

    def begin(self, pass_id: object, trigger: str | None) -> None:
        """Remember that a pass begins now."""
        self._begun[pass_id] = _Begun(trigger, time.monotonic())
        if len(self._begun) > _MOST_OPEN:
            del self._begun[next(iter(self._begun))]

    def trigger(self, pass_id: object) -> str | None:
        """Return why a pass began, if its begin was heard."""
        begun = self._begun.get(pass_id)
        return None if begun is None else begun.trigger

    def end(self, pass_id: object) -> float | None:
        """Return the seconds since a pass began, if its begin was heard, and forget it."""
        begun = self._begun.pop(pass_id, None)
        return None if begun is None else time.monotonic() - begun.clock


def telling(event: object, ctx: object, passes: Passes) -> Telling | None:
    """Return what tells of ``event``; ``None``: nothing, or a scope has told it already."""
    for kind in type(event).__mro__:
        read = _READERS.get(kind.__name__)
        if read is not None:
            return read(_Event(event, ctx, passes))
    return None


class _Event:
    """An event, and whom it is about."""

    def __init__(self, event: object, ctx: object, passes: Passes) -> None:
        self.event = event
        self.notice = getattr(event, "notice", None)
        self.passes = passes
        self.pass_id = self.get("pass_id")
        self.run_id = self.get("run_id") or getattr(ctx, "run_id", None)
        agent = self.get("agent") or getattr(ctx, "agent", None)
        session_id = self.get("session_id") or getattr(ctx, "session_id", None)
        self.actor = Actor(agent=_name(agent), run_id=self.run_id, session_id=session_id)
        self.turn: Any = getattr(ctx, "turn", None)
        self._inside_run = current_run() is not None

    def get(self, *alternatives: str) -> Any:
        """Return the first of these attributes that is known, of the event or of its notice."""
        for name in alternatives:
            for holder in (self.event, self.notice):
                value = getattr(holder, name, None)
                if value is not None:
                    return value
        return None

    @property
    def is_recorded_run(self) -> bool:
        """Does the runtime tell of its runs itself?"""
        return self._inside_run or (self.run_id is not None and self.run_id in recorded.runs)

    @property
    def is_recorded_pass(self) -> bool:
        """Has the pass that this event speaks of a scope of its own?"""
        return self.pass_id is not None and self.pass_id in recorded.passes


# --- a pass ---


def _started(heard: _Event) -> Telling | None:
    if heard.is_recorded_pass:
        return None
    trigger = heard.get("trigger")
    heard.passes.begin(heard.pass_id, trigger)
    tokens, policy = heard.get("tokens_before"), _name(heard.get("policy"))
    return lambda at: logs.compaction_started(
        pass_id=heard.pass_id,
        policy=policy,
        trigger=trigger,
        tokens_before=tokens,
        actor=heard.actor,
        at=at,
    )


def _folded(heard: _Event) -> Telling | None:
    if heard.is_recorded_pass:
        return None
    index, planned = heard.get("index") or 1, heard.get("planned")  # events count from 1
    usage = heard.get("usage")
    return lambda at: logs.compaction_fold(
        pass_id=heard.pass_id,
        index=index - 1,
        planned=planned,
        input_tokens=getattr(usage, "input_tokens", None),
        output_tokens=getattr(usage, "output_tokens", None),
        actor=heard.actor,
        at=at,
    )


def _ended(heard: _Event) -> Telling | None:
    """Tell how long a pass took, and of one that changed nothing: no other event does."""
    if heard.is_recorded_pass:
        return None
    outcome, trigger = heard.get("outcome"), heard.passes.trigger(heard.pass_id)
    seconds = heard.passes.end(heard.pass_id)
    facts = {
        **heard.actor.facts(),
        names.COMPACTION_ID: heard.pass_id,
        names.COMPACTION_TRIGGER: trigger,
        names.COMPACTION_OUTCOME: outcome,
        names.COMPACTION_TOKENS_AFTER: heard.get("tokens_after"),
    }

    def tell(at: Moment) -> None:
        _record({names.METRIC_COMPACTION_DURATION: seconds}, facts, at)
        if outcome not in _USEFUL:
            logs.context_compacted(facts=facts, at=at)

    return tell


def _compacted(heard: _Event) -> Telling | None:
    before, after = heard.get("entries_before") or (), heard.get("entries_after") or ()
    if heard.is_recorded_pass or view_key(before, after) in recorded.views:
        return None
    facts = _pass_facts(heard, len(before), len(after))
    stages = [
        (
            {names.COMPACTION_STAGE: stage.name, names.COMPACTION_OUTCOME: stage.outcome},
            {
                names.METRIC_STAGE_DURATION: stage.seconds,
                names.METRIC_FREED_TOKENS: stage.before - stage.after,
            },
        )
        for stage in heard.get("stages") or ()
        if stage.outcome != names.SKIPPED
    ]
    summary = heard.get("summary")
    numbers = _numbers(facts)

    def tell(at: Moment) -> None:
        _record(numbers, facts, at)
        for stage_facts, stage_numbers in stages:
            _record(stage_numbers, stage_facts, at)
        logs.context_compacted(
            facts=facts, summary=None if summary is None else lambda: summary, at=at
        )

    return tell


def _pass_facts(heard: _Event, entries_before: int, entries_after: int) -> dict[str, object]:
    tokens_before = heard.get("tokens_before_estimate", "tokens_before")
    tokens_after = heard.get("tokens_after_estimate", "tokens_after")
    known = tokens_before is not None and tokens_after is not None
    freed = tokens_before - tokens_after if known else None
    reactive = bool(heard.get("reactive"))
    stages, usage = heard.get("stages") or (), heard.get("usage")
    inflated = freed is not None and freed < 0
    return {
        **heard.actor.facts(),
        names.COMPACTION_ID: heard.pass_id,
        names.COMPACTION_POLICY: _name(heard.get("policy")),
        names.COMPACTION_TRIGGER: (
            names.TRIGGER_OVERFLOW if reactive else heard.passes.trigger(heard.pass_id)
        ),
        names.COMPACTION_OUTCOME: heard.get("outcome")
        or (names.INFLATED if inflated else names.COMPACTED),
        names.COMPACTION_REASON: heard.get("reason"),
        names.COMPACTION_REACTIVE: reactive,
        names.CONTEXT_HISTORY_TOKENS: heard.get("history_tokens_estimate"),
        names.COMPACTION_TOKENS_BEFORE: tokens_before,
        names.COMPACTION_TOKENS_AFTER: tokens_after,
        names.COMPACTION_TOKENS_FREED: freed,
        names.COMPACTION_ENTRIES_BEFORE: entries_before,
        names.COMPACTION_ENTRIES_AFTER: entries_after,
        names.COMPACTION_STAGES: [stage.name for stage in stages],
        names.COMPACTION_STAGE_OUTCOMES: [stage.outcome for stage in stages],
        names.COMPACTION_SUMMARY_INPUT_TOKENS: getattr(usage, "input_tokens", None),
        names.COMPACTION_SUMMARY_OUTPUT_TOKENS: getattr(usage, "output_tokens", None),
    }


def _numbers(facts: Mapping[str, Any]) -> dict[str, float | None]:
    """Return what a pass adds to the metrics."""
    freed, before = facts[names.COMPACTION_TOKENS_FREED], facts[names.COMPACTION_TOKENS_BEFORE]
    known = freed is not None and before
    return {
        names.METRIC_COMPACTION_REDUCTION: freed / before if known and freed >= 0 else None,
        names.METRIC_INFLATED_TOKENS: -freed if known and freed < 0 else None,
        names.METRIC_SUMMARY_INPUT_TOKENS: facts[names.COMPACTION_SUMMARY_INPUT_TOKENS],
        names.METRIC_SUMMARY_OUTPUT_TOKENS: facts[names.COMPACTION_SUMMARY_OUTPUT_TOKENS],
    }


def _skipped(heard: _Event) -> Telling:
    reason, policy = str(heard.get("reason") or names.OTHER), _name(heard.get("policy"))
    return lambda at: logs.compaction_skipped(
        reason=reason, policy=policy, actor=heard.actor, at=at
    )


# --- a run ---


def _run_started(heard: _Event) -> Telling | None:
    if heard.get("resumed") is not True or heard.is_recorded_run:
        return None
    return lambda at: logs.run_resumed(turns=heard.turn, actor=heard.actor, at=at)


def _run_failed(heard: _Event) -> Telling | None:
    error = heard.get("error")
    cancelled = any(kind.__name__ == "RunCancelled" for kind in type(error).__mro__)
    if not cancelled or heard.is_recorded_run:
        return None
    reason = getattr(error, "cancellation_reason", None)
    checkpoint = getattr(error, "cancellation_checkpoint", None)

    def tell(at: Moment) -> None:
        record_cancellation(reason, checkpoint)
        logs.run_cancelled(reason=reason, checkpoint=checkpoint, actor=heard.actor, at=at)

    return tell


def _handoff(heard: _Event) -> Telling | None:
    if heard.is_recorded_run:
        return None
    source, target = _name(heard.get("from_agent")), _name(heard.get("to_agent"))

    def tell(at: Moment) -> None:
        record_handoff(source or "", target or "")
        logs.agent_handoff(source=source or "", target=target or "", actor=heard.actor, at=at)

    return tell


# --- storage ---


def _checkpoint_saved(heard: _Event) -> Telling | None:
    if heard.is_recorded_run:
        return None
    store = _name(heard.get("store")) or names.OTHER
    known = {name: heard.get(name) for name in ("sequence", "size", "entries", "status")}
    return lambda at: logs.checkpoint_saved(store=store, **known, actor=heard.actor, at=at)


def _archive_written(heard: _Event) -> Telling | None:
    if heard.is_recorded_pass or heard.is_recorded_run:
        return None
    ref, store = heard.get("ref", "uri"), _name(heard.get("store")) or names.OTHER
    size, entries = heard.get("size"), heard.get("entries")
    return lambda at: logs.archive_written(
        store=store,
        size=size,
        entries=entries,
        ref=None if ref is None else lambda: str(getattr(ref, "uri", ref)),
        actor=heard.actor,
        at=at,
    )


_READERS: Final[Mapping[str, Callable[[_Event], Telling | None]]] = {
    "CompactionStarted": _started,
    "SummaryFoldCompleted": _folded,
    "CompactionEnded": _ended,
    "ContextCompacted": _compacted,
    "CompactionSkipped": _skipped,
    "RunStarted": _run_started,
    "RunFailed": _run_failed,
    "HandoffOccurred": _handoff,
    "CheckpointSaved": _checkpoint_saved,
    "ArchiveWritten": _archive_written,
}


def _record(numbers: Mapping[str, float | None], facts: Mapping[str, object], at: Moment) -> None:
    instruments = providers.instruments()
    if instruments is not None:
        known = clean(facts)
        for metric, value in numbers.items():
            instruments.record(metric, value, known, at.context)


def _name(value: Any) -> str | None:
    """Return a name: a text, or what an agent, a policy or a store is called."""
    value = getattr(value, "name", value)
    if value is None or isinstance(value, str):
        return value
    return type(value).__name__
