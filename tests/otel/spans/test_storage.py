"""Archive writes and checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest
from opentelemetry.trace import SpanKind

from lovia_otel import archive_scope, checkpoint_scope, names

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry


@pytest.mark.parametrize(("remote", "kind"), [(False, SpanKind.INTERNAL), (True, SpanKind.CLIENT)])
def test_an_archive_write_shows_what_went_where(
    telemetry: Telemetry, remote: bool, kind: SpanKind
) -> None:
    """A write says which store took how many entries and bytes; a remote one is a client call."""
    with archive_scope(store="file", entries=3, remote=remote) as archive:
        archive.settle(ref="c1.txt", size=2048)
    span = telemetry.spans["archive_write"]
    assert span.kind is kind
    assert dict(span.attributes or {}) == {
        names.ARCHIVE_STORE: "file",
        names.ARCHIVE_ENTRIES: 3,
        names.ARCHIVE_REF: "c1.txt",
        names.ARCHIVE_SIZE: 2048,
    }
    assert telemetry.keys(names.METRIC_ARCHIVE_DURATION) == {names.ARCHIVE_STORE: "file"}
    assert telemetry.total(names.METRIC_ARCHIVE_SIZE) == 2048


@pytest.mark.parametrize(
    ("mode", "shown"), [("NO_CONTENT", "c1.txt"), ("SPAN_ONLY", "/home/ann/secret/c1.txt")]
)
def test_a_path_is_content(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, mode: str, shown: str
) -> None:
    """Without content capture only the last part of a path leaves: folders name people."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, mode)
    with archive_scope(store="file") as archive:
        archive.settle(ref="/home/ann/secret/c1.txt")
    assert telemetry.attributes("archive_write")[names.ARCHIVE_REF] == shown


def test_a_failed_write_is_measured_as_one(telemetry: Telemetry) -> None:
    """The duration of a write that failed carries the error's type."""
    with pytest.raises(PermissionError), archive_scope(store="file"):
        raise PermissionError
    assert telemetry.keys(names.METRIC_ARCHIVE_DURATION)[names.ERROR_TYPE] == "PermissionError"


@pytest.mark.parametrize(
    ("operation", "span", "measured"),
    [("save", "checkpoint_save", True), ("load", "checkpoint_load", False)],
)
def test_a_checkpoint_shows_its_size(
    telemetry: Telemetry, operation: Literal["save", "load"], span: str, measured: bool
) -> None:
    """Saving and loading have their spans; saving alone has metrics."""
    with checkpoint_scope(operation=operation, store="sqlite", sequence=4) as checkpoint:
        checkpoint.settle(size=512, entries=2, status="running")
    assert telemetry.attributes(span) == {
        names.CHECKPOINT_STORE: "sqlite",
        names.CHECKPOINT_SEQUENCE: 4,
        names.CHECKPOINT_SIZE: 512,
        names.CHECKPOINT_ENTRIES: 2,
        names.CHECKPOINT_STATUS: "running",
    }
    assert bool(telemetry.points(names.METRIC_CHECKPOINT_DURATION)) == measured
    assert telemetry.total(names.METRIC_CHECKPOINT_SIZE) == (512 if measured else 0)


def test_an_archive_write_is_told_and_its_failure_too(telemetry: Telemetry) -> None:
    """A pass goes on without its archive, so a failed write is a warning."""
    with archive_scope(store="file", entries=4) as scope:
        scope.settle(ref="/home/ann/.lovia/x.jsonl", size=900)
    assert dict(telemetry.events[names.EVENT_ARCHIVE_WRITTEN].attributes or {}) == {
        names.ARCHIVE_STORE: "file",
        names.ARCHIVE_SIZE: 900,
        names.ARCHIVE_ENTRIES: 4,
    }
    with pytest.raises(OSError, match="full"), archive_scope(store="file"):
        raise OSError("full")
    failed = telemetry.events[names.EVENT_COMPACTION_EXCEPTION]
    assert dict(failed.attributes or {}) == {names.EXCEPTION_TYPE: "OSError"}


def test_an_address_is_told_without_its_signature(telemetry: Telemetry) -> None:
    """What follows the path of an address can be a credential."""
    with archive_scope(store="s3", remote=True) as scope:
        scope.settle(ref="https://bucket.example/ann/x.jsonl?signature=secret#secret")
    assert telemetry.attributes("archive_write")[names.ARCHIVE_REF] == "x.jsonl"
