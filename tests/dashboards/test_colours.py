"""Colours that show on both of Grafana's themes."""

from __future__ import annotations

import pytest

from dashboards import colours
from dashboards.colours import BACKGROUNDS, contrast
from lovia_otel import names

_DRAWN = {**colours.NUMBERS, "neutral": colours.NEUTRAL, "trouble": colours.TROUBLE}


@pytest.mark.parametrize("name", [name for name in _DRAWN if _DRAWN[name] != "text"])
def test_a_colour_shows_on_both_themes(name: str) -> None:
    """Each colour has a contrast of at least 4 to 1 on the light and on the dark background."""
    assert min(contrast(_DRAWN[name], background) for background in BACKGROUNDS) >= 4


def test_no_two_numbers_look_alike() -> None:
    """Each number has a colour that no other one has."""
    assert len(set(_DRAWN.values())) == len(_DRAWN)


def test_every_outcome_has_a_colour() -> None:
    """Outcomes of runs, passes and stages are all drawn in a colour of their own meaning."""
    outcomes = {*names.RUN_OUTCOMES, *names.PASS_OUTCOMES, *names.STAGE_OUTCOMES}
    assert set(colours.OUTCOMES) == outcomes


def test_contrast_is_that_of_the_guidelines() -> None:
    """Black on white is 21 to 1, a colour on itself 1 to 1."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#8b6ebf", "#8b6ebf") == pytest.approx(1)
