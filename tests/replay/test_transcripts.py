"""Every recorded session through the default policy, at three windows."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import anyio
import pytest

from lovia import CompactingContextPolicy, ExtractiveSummarizer
from lovia.replay import RecordedSession, ReplayResult, load_session, replay
from lovia.replay.engine import transcript_digest
from lovia.tokens.estimators import default_counter
from lovia.transcript.pairing import leading_block
from tests.paths import REPO, TRANSCRIPTS, needs_transcripts

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted(
    path
    for path in TRANSCRIPTS.glob("*.json")
    if path.name != "index.json" and not path.name.endswith(".usage.json")
)
WINDOWS = (8_000, 32_000, 128_000)
COUNTED = TRANSCRIPTS / "pi_before_compaction.json"

pytestmark = needs_transcripts


@cache
def session(path: Path) -> RecordedSession:
    """Return a recorded session; entries are values, so tests may share them."""
    return load_session(path)


@cache
def replayed(path: Path, window: int) -> ReplayResult:
    """Send a recorded session through the default policy."""
    policy = CompactingContextPolicy(
        context_window_tokens=window, summarizer=ExtractiveSummarizer()
    )

    return anyio.run(partial(replay, session(path), policy, window=window))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_view_is_valid_and_the_transcript_is_untouched(path: Path, window: int) -> None:
    """A replay raises at the first invalid view, and compares the digest before and after."""
    result = replayed(path, window)
    assert result.turns
    assert result.digest == transcript_digest(session(path).entries)
    assert all(turn.history >= turn.request or not turn.passes for turn in result.turns)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_requests_fit_wherever_their_system_messages_leave_room(path: Path, window: int) -> None:
    """Only a session whose leading system messages outgrow the window has calls that overflow."""
    result, entries = replayed(path, window), session(path).entries
    fixed = default_counter().entries(entries[: leading_block(entries)])
    if fixed < window / 2:
        assert result.totals.overflows == 0
    assert (result.totals.overflows > 0) == (fixed > window)


def test_the_longest_session_is_counted_in_three_segments() -> None:
    """The recorded session was compacted at messages 353 and 618, and each stretch fits alone."""
    estimate = replayed(COUNTED, 128_000).estimate
    assert estimate is not None
    assert estimate.unmatched == 0
    segments = estimate.segments
    assert [s.first.message for s in segments] == [1, 353, 618]
    assert sum(s.calls for s in segments) == 469
    assert all(0.03 < s.relative_error < 0.04 for s in segments)
    assert all(s.slope is not None and 1.11 < s.slope < 1.16 for s in segments)
    assert [s.line_error for s in segments] == sorted(s.line_error or 0 for s in segments)


def test_the_readme_tells_the_error_that_is_left() -> None:
    """The numbers that the README states are those of the replay."""
    estimate = replayed(COUNTED, 128_000).estimate
    assert estimate is not None
    segments = estimate.segments
    errors = [s.line_error or 0 for s in segments]
    slopes = [round(100 * (s.slope or 0) - 100) for s in segments]
    readme = " ".join((REPO / "README.md").read_text(encoding="utf-8").split())
    assert f"{sum(s.calls for s in segments)} counted calls" in readme
    assert f"{min(slopes)} to {max(slopes)} % more tokens" in readme
    assert f"{min(errors):,} to {max(errors):,} tokens are left" in readme


def test_feeding_the_recorded_counts_makes_the_sizes_the_provider_s() -> None:
    """With the counts fed the policy corrects its estimate, and says where sizes come from."""
    recorded = session(COUNTED)

    policy = CompactingContextPolicy(
        context_window_tokens=400_000,
        max_entries=None,
        large_tool_result_chars=10**9,
        tool_result_budget_chars=10**9,
        summarizer=ExtractiveSummarizer(),
    )
    turns = anyio.run(partial(replay, recorded, policy, window=400_000, feed_usage=True)).turns
    counted = [turn for turn in turns[20:100] if turn.recorded is not None]
    assert all(turn.source == "provider" for turn in counted)
    errors = [abs(turn.request - (turn.recorded or 0)) for turn in counted]
    assert sum(errors) / len(errors) < 2_000  # the offset alone is eight times that
