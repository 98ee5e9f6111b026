"""What was recorded is known for a while."""

from __future__ import annotations

from lovia_otel import recorded, use_providers
from lovia_otel.recorded import MOST, view_key


def test_only_the_most_recent_are_kept() -> None:
    """Memory is bounded, and what is added again is recent again."""
    recent = recorded._Recent()
    for number in range(MOST):
        recent.add(number)
    recent.add(0)
    recent.add("new")
    assert 0 in recent
    assert "new" in recent
    assert 1 not in recent


def test_what_went_elsewhere_is_not_recorded() -> None:
    """Telemetry that other providers got is none that today's have."""
    recent = recorded._Recent()
    recent.add("p1")
    with use_providers():
        assert "p1" not in recent
        recent.add("p2")
        assert "p2" in recent
    assert "p2" not in recent


def test_a_view_is_known_by_its_ends() -> None:
    """Other entries, or another number of them, are another view."""
    entries = [object(), object(), object()]
    key = view_key(entries, entries[1:])
    assert key == view_key(entries, list(entries[1:]))
    assert key != view_key(entries, entries[:2])
    assert key != view_key([*entries, object()], entries[1:])
    assert view_key(entries, []) == (3, 0)
