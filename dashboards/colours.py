"""Colours in the dashboards: the numbers' own, and those of outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lovia.replay import palette
from lovia_otel import names

if TYPE_CHECKING:
    from lovia.replay.palette import Swatch

#: What panels are drawn on: Grafana's light and its dark theme.
BACKGROUNDS: Final = ("#ffffff", "#181b1f")
_STEPS: Final = 64


def middle(swatch: Swatch) -> str:
    """Return the colour between a number's light and dark shade that shows best on both themes.

    A dashboard is looked at in either theme, and its colours are one for both.
    """
    light, dark = _channels(swatch.light), _channels(swatch.dark)
    mixed = [
        [round(a + (b - a) * step / _STEPS) for a, b in zip(light, dark, strict=True)]
        for step in range(_STEPS + 1)
    ]
    shades = ["#" + "".join(f"{channel:02x}" for channel in shade) for shade in mixed]
    return max(shades, key=lambda shade: min(contrast(shade, ground) for ground in BACKGROUNDS))


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21, as WCAG 2 defines it."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _channels(colour: str) -> list[int]:
    return [int(colour[k : k + 2], 16) for k in (1, 3, 5)]


def _luminance(colour: str) -> float:
    shares = [channel / 255 for channel in _channels(colour)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


HISTORY: Final = middle(palette.HISTORY)
REQUEST: Final = middle(palette.REQUEST)
SAVED: Final = middle(palette.SAVED)
SUMMARY_COST: Final = middle(palette.SUMMARY_COST)
NET: Final = "text"  # the theme's own text colour, as the report draws this number
NEUTRAL: Final = middle(palette.WINDOW)
TROUBLE: Final = middle(palette.TROUBLE)
CANCELLED: Final = "#a8648f"

#: The numbers by the names under which panels show them.
NUMBERS: Final = {
    palette.HISTORY.label: HISTORY,
    palette.REQUEST.label: REQUEST,
    palette.SAVED.label: SAVED,
    palette.SUMMARY_COST.label: SUMMARY_COST,
    palette.NET.label: NET,
}

#: The outcomes of runs, passes and stages: well, halfway, nothing to do, stopped, wrong.
OUTCOMES: Final = {
    **dict.fromkeys((names.COMPLETED, names.COMPACTED, names.APPLIED), SAVED),
    **dict.fromkeys((names.PARTIAL, names.LIMIT_REACHED, names.REFUSED), SUMMARY_COST),
    **dict.fromkeys((names.NOOP, names.SKIPPED, names.SUSPENDED, names.INFLATED), NEUTRAL),
    names.CANCELLED: CANCELLED,
    names.FAILED: TROUBLE,
}
