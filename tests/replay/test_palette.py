"""The colours of the four numbers."""

from __future__ import annotations

import pytest

from lovia.replay import palette
from lovia.replay.palette import Swatch

SWATCHES = [value for value in vars(palette).values() if isinstance(value, Swatch)]
LIGHT, DARK = ("#ffffff", "#f6f7f9", "#eef1f5"), ("#12161c", "#1a2028", "#222a34")


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG 2 defines it."""
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("swatch", SWATCHES, ids=lambda swatch: swatch.key)
def test_every_colour_may_colour_text(swatch: Swatch) -> None:
    """Each shade has a contrast of at least 4.5 to 1 on the report's backgrounds."""
    assert min(contrast(swatch.light, background) for background in LIGHT) >= 4.5
    assert min(contrast(swatch.dark, background) for background in DARK) >= 4.5


def test_no_two_numbers_look_alike() -> None:
    """Keys, labels and colours tell the numbers apart."""
    for field in ("key", "label", "light", "dark", "terminal"):
        assert len({getattr(swatch, field) for swatch in SWATCHES}) == len(SWATCHES)
