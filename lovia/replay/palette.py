"""The colours of the four numbers, wherever they are drawn: terminal, report, dashboards.

The hues keep their distance under the common forms of colour blindness (they follow the Okabe-Ito
set), and each shade has a contrast of at least 4.5 to 1 on its background, so that it may colour
text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = [
    "HISTORY",
    "NET",
    "NUMBERS",
    "REQUEST",
    "SAVED",
    "SUMMARY_COST",
    "TROUBLE",
    "WINDOW",
    "Swatch",
]


@dataclass(frozen=True, slots=True)
class Swatch:
    """One number's name, meaning and colours.

    Attributes:
        key: Short name, fit for a CSS variable or a JSON key.
        label: The word that people read.
        meaning: What the number is, in one sentence.
        light: Colour on a light background, ``#rrggbb``.
        dark: Colour on a dark background, ``#rrggbb``.
        terminal: Colour in a terminal, whose background nobody knows.
    """

    key: str
    label: str
    meaning: str
    light: str
    dark: str
    terminal: str


HISTORY: Final = Swatch(
    "history",
    "History",
    "The whole transcript as a request, as if nothing was ever compacted.",
    light="#6d4fa3",
    dark="#b79ce8",
    terminal="magenta",
)
REQUEST: Final = Swatch(
    "request",
    "Request",
    "What a model call really sends, instructions and tool schemas included.",
    light="#0063a3",
    dark="#5cb3f0",
    terminal="blue",
)
SAVED: Final = Swatch(
    "saved",
    "Saved",
    "Per model call: the history, or the window where that is smaller, minus the request.",
    light="#00734f",
    dark="#3fcb98",
    terminal="green",
)
SUMMARY_COST: Final = Swatch(
    "cost",
    "Summary cost",
    "What compaction's own model calls spent, prompt and answer together.",
    light="#ad4800",
    dark="#f5965a",
    terminal="yellow",
)
NET: Final = Swatch(
    "net",
    "Net",
    "Saved minus summary cost: what compaction is worth after paying for itself.",
    light="#1c2430",
    dark="#f1f4f8",
    terminal="bold",
)
WINDOW: Final = Swatch(
    "window",
    "Window",
    "The largest request that the model takes.",
    light="#5b6675",
    dark="#9aa6b5",
    terminal="bright_black",
)
TROUBLE: Final = Swatch(
    "trouble",
    "Overflow",
    "A request that stayed larger than the window.",
    light="#b3261e",
    dark="#ff8a80",
    terminal="red",
)

#: The numbers in the order in which they are shown everywhere.
NUMBERS: Final = (HISTORY, REQUEST, SAVED, SUMMARY_COST, NET)
