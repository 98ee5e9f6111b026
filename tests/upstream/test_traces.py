"""The page of traces shows what its recordings hold."""

from __future__ import annotations

import pytest

from lovia_otel import names, read_recording
from tests.upstream.traces import FOLDER, SOURCES, page


def test_the_page_shows_the_recordings() -> None:
    """Each tree on the page is what `lovia view` prints of the file beside it."""
    shown = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert shown == page(), "run `python -m tests.upstream.traces`"


@pytest.mark.parametrize("source", SOURCES)
def test_each_source_has_a_pass_with_sizes(source: str) -> None:
    """A recording holds a pass that did something, with its sizes before and after."""
    recording = read_recording(FOLDER / f"{source}.jsonl")
    passes = [span.attributes for span in recording.named(names.SPAN_PASS)]
    done = [about for about in passes if about[names.COMPACTION_OUTCOME] == names.COMPACTED]
    assert done
    for about in done:
        before, after = about[names.COMPACTION_TOKENS_BEFORE], about[names.COMPACTION_TOKENS_AFTER]
        assert about[names.COMPACTION_TOKENS_FREED] == int(str(before)) - int(str(after)) > 0


def test_the_recordings_are_small() -> None:
    """None of them is more than a reader would open."""
    sizes = {path.name: path.stat().st_size for path in FOLDER.glob("*.jsonl")}
    assert set(sizes) == {f"{source}.jsonl" for source in SOURCES}
    assert max(sizes.values()) < 100_000
