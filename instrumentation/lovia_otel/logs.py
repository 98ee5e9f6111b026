"""Log events: facts that are worth a record of their own, in the span that is current.

Each function emits one event of the contract, with the severity that the contract gives it. An
unknown fact (``None``) is left out. ``at`` holds the context and the time of what is told, for a
caller that emits later than it happened. Tokens are tokens, sizes bytes, times nanoseconds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from opentelemetry._logs import SeverityNumber

from lovia_otel import names, providers
from lovia_otel.content import Content, capture_mode, exported
from lovia_otel.facts import clean
from lovia_otel.guard import guarded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.context import Context
    from opentelemetry.util.types import AnyValue


@dataclass(frozen=True)
class Moment:
    """When and in which context something happened; ``None``: now, and the current context."""

    context: Context | None = None
    timestamp: int | None = None  # nanoseconds since the epoch


@dataclass(frozen=True, kw_only=True)
class Actor:
    """Whom an event is about: the agent, its run and its session, as far as known."""

    agent: str | None = None
    run_id: str | None = None
    session_id: str | None = None

    def facts(self) -> dict[str, object]:
        """Return the attributes that identify the actor."""
        return {
            names.AGENT_NAME: self.agent,
            names.RUN_ID: self.run_id,
            names.CONVERSATION_ID: self.session_id,
        }


_NOW: Final = Moment()
_NOBODY: Final = Actor()


@guarded
def compaction_started(
    *,
    pass_id: str | None,
    policy: str | None,
    trigger: str | None,
    tokens_before: int | None = None,
    tokens_target: int | None = None,
    actor: Actor = _NOBODY,
    at: Moment = _NOW,
) -> None:
    """Tell that a pass began, and why."""
    facts = {
        **actor.facts(),
        names.COMPACTION_ID: pass_id,
        names.COMPACTION_POLICY: policy,
        names.COMPACTION_TRIGGER: trigger,
        names.COMPACTION_TOKENS_BEFORE: tokens_before,
        names.COMPACTION_TOKENS_TARGET: tokens_target,
    }
    _emit(names.EVENT_COMPACTION_STARTED, SeverityNumber.INFO, facts, at)


@guarded
def compaction_fold(
    *,
    pass_id: str | None,
    index: int,
    planned: int | None,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    actor: Actor = _NOBODY,
    at: Moment = _NOW,
) -> None:
    """Tell that fold ``index`` (from 0) of ``planned`` is done, and what its model calls spent."""
    facts = {
        **actor.facts(),
        names.COMPACTION_ID: pass_id,
        names.CHUNK_INDEX: index,
        names.CHUNK_PLANNED: planned,
        names.COMPACTION_SUMMARY_INPUT_TOKENS: input_tokens,
        names.COMPACTION_SUMMARY_OUTPUT_TOKENS: output_tokens,
    }
    _emit(names.EVENT_COMPACTION_FOLD, SeverityNumber.DEBUG, facts, at)


@guarded
def context_compacted(
    *,
    facts: Mapping[str, object],
    content: Mapping[str, AnyValue] | None = None,
    summary: Content | None = None,
    at: Moment = _NOW,
) -> None:
    """Tell what a pass did: all of its numbers, and content that was taken for events.

    ``summary`` builds the new summary's text, where it is not in ``content`` already. Emit it
    inside the pass's span, so that the record leads there.
    """
    taken = {**_content({names.SUMMARY_TEXT: summary}), **(content or {})}
    _emit(names.EVENT_CONTEXT_COMPACTED, SeverityNumber.INFO, facts, at, taken)


@guarded
def context_measured(
    *,
    pass_id: str,
    tokens_measured: int,
    tokens_after: int | None = None,
    model: str | None = None,
    provider: str | None = None,
    actor: Actor = _NOBODY,
    at: Moment = _NOW,
) -> None:
    """Tell what the provider itself counted for the view of a pass, beside the estimate."""
    facts = {
        **actor.facts(),
        names.COMPACTION_ID: pass_id,
        names.COMPACTION_TOKENS_MEASURED: tokens_measured,
        names.COMPACTION_TOKENS_AFTER: tokens_after,
        names.REQUEST_MODEL: model,
        names.PROVIDER_NAME: provider,
    }
    _emit(names.EVENT_CONTEXT_MEASURED, SeverityNumber.INFO, facts, at)


@guarded
def compaction_exception(
    error: BaseException | str,
    *,
    pass_id: str | None = None,
    stage: str | None = None,
    actor: Actor = _NOBODY,
    at: Moment = _NOW,
) -> None:
    """Tell that something failed and the run went on.

    ``error`` is the exception, whose text counts as content, or the name of its class alone.
    """
    known = isinstance(error, BaseException)
    facts = {
        **actor.facts(),
        names.COMPACTION_ID: pass_id,
        names.COMPACTION_STAGE: stage,
        names.EXCEPTION_TYPE: type(error).__qualname__ if known else error,
    }
    content = _content({names.EXCEPTION_MESSAGE: (lambda: str(error)) if known else None})
    _emit(names.EVENT_COMPACTION_EXCEPTION, SeverityNumber.WARN, facts, at, content)


@guarded
def compaction_skipped(
    *, reason: str, policy: str | None = None, actor: Actor = _NOBODY, at: Moment = _NOW
) -> None:
    """Tell that there was no pass although one was due, and why not."""
    facts = {
        **actor.facts(),
        names.COMPACTION_POLICY: policy,
        names.COMPACTION_SKIP_REASON: reason,
    }
    _emit(names.EVENT_COMPACTION_SKIPPED, SeverityNumber.DEBUG, facts, at)


@guarded
def run_cancelled(
    *,
    reason: str | None,
    checkpoint: str | None = None,
    checkpoints: int | None = None,
    actor: Actor = _NOBODY,
    at: Moment = _NOW,
) -> None:
    """Tell that a run was cancelled: why, at which safe point, and how many it passed before."""
    facts = {
        **actor.facts(),
        names.CANCELLATION_REASON: reason,
        names.CANCELLATION_CHECKPOINT: checkpoint,
        names.CANCELLATION_CHECKPOINTS: checkpoints,
    }
    _emit(names.EVENT_RUN_CANCELLED, SeverityNumber.INFO, facts, at)


@guarded
def run_resumed(*, turns: int | None = None, actor: Actor = _NOBODY, at: Moment = _NOW) -> None:
    """Tell that a saved run goes on, with the number of ``turns`` it had made."""
    facts = {**actor.facts(), names.RUN_TURNS: turns}
    _emit(names.EVENT_RUN_RESUMED, SeverityNumber.INFO, facts, at)


@guarded
def checkpoint_saved(
    *,
    store: str,
    sequence: int | None = None,
    size: int | None = None,
    entries: int | None = None,
    status: str | None = None,
    actor: Actor = _NOBODY,
    at: Moment = _NOW,
) -> None:
    """Tell that a checkpoint was saved; ``size`` in bytes."""
    facts = {
        **actor.facts(),
        names.CHECKPOINT_STORE: store,
        names.CHECKPOINT_SEQUENCE: sequence,
        names.CHECKPOINT_SIZE: size,
        names.CHECKPOINT_ENTRIES: entries,
        names.CHECKPOINT_STATUS: status,
    }
    _emit(names.EVENT_CHECKPOINT_SAVED, SeverityNumber.INFO, facts, at)


@guarded
def agent_handoff(
    *,
    source: str,
    target: str,
    pending: bool | None = None,
    actor: Actor = _NOBODY,
    at: Moment = _NOW,
) -> None:
    """Tell that one agent hands over to another; ``pending``: fired, and not yet applied."""
    facts = {
        **actor.facts(),
        names.HANDOFF_SOURCE: source,
        names.HANDOFF_TARGET: target,
        names.HANDOFF_PENDING: pending,
    }
    _emit(names.EVENT_AGENT_HANDOFF, SeverityNumber.INFO, facts, at)


@guarded
def archive_written(
    *,
    store: str,
    size: int | None = None,
    entries: int | None = None,
    ref: Content | None = None,
    actor: Actor = _NOBODY,
    at: Moment = _NOW,
) -> None:
    """Tell that entries were archived; the path that ``ref`` builds counts as content."""
    facts = {
        **actor.facts(),
        names.ARCHIVE_STORE: store,
        names.ARCHIVE_SIZE: size,
        names.ARCHIVE_ENTRIES: entries,
    }
    content = _content({names.ARCHIVE_REF: ref})
    _emit(names.EVENT_ARCHIVE_WRITTEN, SeverityNumber.DEBUG, facts, at, content)


@guarded
def inference_details(
    *, facts: Mapping[str, object], content: Mapping[str, AnyValue], at: Moment = _NOW
) -> None:
    """Emit one model call's details: its span's facts, and content that was taken for events."""
    _emit(names.EVENT_INFERENCE_DETAILS, SeverityNumber.INFO, facts, at, content)


def _content(offered: Mapping[str, Content | None]) -> dict[str, AnyValue]:
    if not capture_mode().on_events:
        return {}
    content: dict[str, AnyValue] = {}
    for key, build in offered.items():
        if build is not None:
            _take(content, key, build)
    return content


@guarded
def _take(content: dict[str, AnyValue], key: str, build: Content) -> None:
    # Guarded alone: what cannot be built or redacted is not exported, its event is.
    content[key] = exported(build)


def _emit(
    event: str,
    severity: SeverityNumber,
    facts: Mapping[str, object],
    at: Moment,
    content: Mapping[str, AnyValue] | None = None,
) -> None:
    logger = providers.logger()
    if logger is None:
        return
    attributes: dict[str, AnyValue] = {**clean(facts), **(content or {})}
    logger.emit(
        timestamp=at.timestamp or time.time_ns(),
        context=at.context,
        severity_number=severity,
        severity_text=severity.name,
        attributes=attributes,
        event_name=event,
    )
