"""Writing removed entries to an archive, and saving and loading checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from opentelemetry.trace import SpanKind

from lovia_otel import content, logs, names
from lovia_otel.spans._scope import Scope, settles
from lovia_otel.spans.compaction import actor_of, current_pass

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(kw_only=True, eq=False)
class ArchiveScope(Scope):
    """One write to an archive: ``archive_write``. A ``remote`` archive makes it a CLIENT span."""

    store: str
    entries: int | None = None
    remote: bool = False

    def __post_init__(self) -> None:
        self._kind = SpanKind.CLIENT if self.remote else SpanKind.INTERNAL
        self._ref: str | None = None

    @settles
    def settle(self, *, ref: str | None = None, size: int | None = None) -> None:
        """Hand over where it was put and how many bytes that took.

        A path can name people and projects, and an address can hold a signature: the whole of it
        is content, and without content capture only the last part of the path is kept.
        """
        self._ref = ref
        self._note({names.ARCHIVE_SIZE: size})
        if ref is not None:
            self._note({names.ARCHIVE_REF: _last_part(ref)})
            self._take_content(names.ARCHIVE_REF, lambda: ref, content.capture_mode())

    def _name(self) -> str:
        return names.SPAN_ARCHIVE

    def _start(self) -> Mapping[str, object]:
        return {names.ARCHIVE_STORE: self.store, names.ARCHIVE_ENTRIES: self.entries}

    def _opened(self) -> None:
        self._pass = current_pass()

    def _measure(self, seconds: float) -> None:
        self._record(names.METRIC_ARCHIVE_DURATION, seconds)
        self._record(names.METRIC_ARCHIVE_SIZE, self._facts.get(names.ARCHIVE_SIZE))
        if self._error is None:
            self._tell()
        elif self._failed:  # a pass goes on without its archive
            logs.compaction_exception(
                self._error, actor=actor_of(self._pass), at=logs.Moment(self._context)
            )

    def _tell(self) -> None:
        size, ref = self._facts.get(names.ARCHIVE_SIZE), self._ref
        logs.archive_written(
            store=self.store,
            size=size if isinstance(size, int) else None,
            entries=self.entries,
            ref=(lambda: ref) if ref is not None else None,
            actor=actor_of(self._pass),
            at=logs.Moment(self._context),
        )


@dataclass(kw_only=True, eq=False)
class CheckpointScope(Scope):
    """The saving or loading of one checkpoint: ``checkpoint_save`` or ``checkpoint_load``."""

    operation: Literal["save", "load"]
    store: str
    sequence: int | None = None

    @settles
    def settle(
        self,
        *,
        size: int | None = None,
        entries: int | None = None,
        sequence: int | None = None,
        status: str | None = None,
    ) -> None:
        """Hand over the bytes and entries that were written or read, and the run's saved status.

        ``sequence`` is which checkpoint it was, where only the load tells.
        """
        self._note(
            {
                names.CHECKPOINT_SIZE: size,
                names.CHECKPOINT_ENTRIES: entries,
                names.CHECKPOINT_SEQUENCE: sequence,
                names.CHECKPOINT_STATUS: status,
            }
        )

    def _name(self) -> str:
        saving = self.operation == "save"
        return names.SPAN_CHECKPOINT_SAVE if saving else names.SPAN_CHECKPOINT_LOAD

    def _start(self) -> Mapping[str, object]:
        return {
            names.CHECKPOINT_STORE: self.store,
            names.CHECKPOINT_SEQUENCE: self.sequence,
        }

    def _measure(self, seconds: float) -> None:
        if self.operation == "save":
            self._record(names.METRIC_CHECKPOINT_DURATION, seconds)
            self._record(names.METRIC_CHECKPOINT_SIZE, self._facts.get(names.CHECKPOINT_SIZE))


def _last_part(ref: str) -> str:
    """Return the last part of a path or an address, without a query or a fragment."""
    path = ref.replace("\\", "/").partition("?")[0].partition("#")[0]
    return path.rstrip("/").rpartition("/")[2]


archive_scope = ArchiveScope
checkpoint_scope = CheckpointScope
