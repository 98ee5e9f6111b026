"""The geometry of the report's charts: sizes over calls as paths, labels and markers.

Only numbers are turned into coordinates here; the template draws them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lovia.replay.palette import HISTORY, REQUEST, WINDOW
from lovia.replay.story import describe_pass, short

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lovia.replay.result import ReplayTurn

__all__ = ["Chart", "Label", "Marker", "Tick", "draw_charts"]

_WIDTH: Final = 1000
_HEIGHT: Final = 300
_LEFT, _RIGHT, _TOP, _BOTTOM = (
    52,
    116,
    14,
    30,
)  # margins: axis labels, line labels, air, axis labels
_LINE_HEIGHT: Final = 16
#: From this ratio of history to request on, the request is too flat without a chart of its own.
_FLAT: Final = 1.6
_TICKS: Final = 4


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: where, and what it says."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Label:
    """The name of a line at its right end, coloured like the line."""

    y: float
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Marker:
    """A pass: where it happened, how far it brought the request down, and what it did."""

    x: float
    before: float
    after: float
    reactive: bool
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart, ready to be drawn.

    Attributes:
        title: What it shows.
        summary: The same in one sentence with its main numbers, for those who cannot see it.
        history: Path of the history line, or ``None`` when it is not in this chart.
        request: Path of the request line.
        request_area: Path of the area under it.
        saved_area: Path of the area between min(history, window) and the request, or ``None``.
        window: Path of the window line, or ``None``; a refusal may teach a smaller window.
        labels: Names of the lines.
        rows: Marks of the vertical axis.
        columns: Marks of the horizontal axis.
        markers: The passes.
        refused: Where a request stayed larger than the window.
        width: Width of the drawing.
        height: Height of the drawing.
        left: Left edge of the plot.
        right: Right edge of the plot.
        base: Bottom of the plot.
    """

    title: str
    summary: str
    history: str | None
    request: str
    request_area: str
    saved_area: str | None
    window: str | None
    labels: tuple[Label, ...]
    rows: tuple[Tick, ...]
    columns: tuple[Tick, ...]
    markers: tuple[Marker, ...]
    refused: tuple[Tick, ...]
    width: int = _WIDTH
    height: int = _HEIGHT
    left: int = _LEFT
    right: int = _WIDTH - _RIGHT
    base: int = _HEIGHT - _BOTTOM


def draw_charts(turns: Sequence[ReplayTurn]) -> tuple[Chart, ...]:
    """Draw the sizes over the calls; a second chart looks closely where the first is too flat."""
    if not turns:
        return ()
    near = max(max(t.request, t.window or 0, *(p.before for p in t.passes)) for t in turns)
    far = max(near, *(turn.history for turn in turns))
    wide = _draw("History and request, call by call", turns, far, with_history=True)
    if far < near * _FLAT:
        return (wide,)
    return (wide, _draw("The request in its window", turns, near, with_history=False))


def _draw(title: str, turns: Sequence[ReplayTurn], top: int, *, with_history: bool) -> Chart:
    rows, ceiling = _scale(top)
    x, y = _across(len(turns)), _up(ceiling)
    history = [(x(i), y(turn.history)) for i, turn in enumerate(turns)]
    request = [(x(i), y(turn.request)) for i, turn in enumerate(turns)]
    capped = [(x(i), y(min(t.history, t.window or t.history))) for i, t in enumerate(turns)]
    windows = [(x(i), y(turn.window)) for i, turn in enumerate(turns) if turn.window]
    floor = [(px, float(_HEIGHT - _BOTTOM)) for px, _ in request]
    return Chart(
        title=title,
        summary=_summary(turns, with_history=with_history),
        history=_path(history) if with_history else None,
        request=_path(request),
        request_area=_area(request, floor),
        saved_area=_area(capped, request) if windows else None,
        window=_path(windows) if windows else None,
        labels=_labels(turns[-1], y, with_history=with_history),
        rows=tuple(Tick(y(value), short(value)) for value in rows),
        columns=_columns(len(turns), x),
        markers=_markers(turns, x, y),
        refused=tuple(
            Tick(x(i), f"Call {turn.index}: {turn.request:,} tokens do not fit the window.")
            for i, turn in enumerate(turns)
            if turn.overflow
        ),
    )


def _across(turns: int) -> Callable[[int], float]:
    span = _WIDTH - _LEFT - _RIGHT
    if turns == 1:
        return lambda _: _LEFT + span / 2
    return lambda i: round(_LEFT + span * i / (turns - 1), 1)


def _up(ceiling: int) -> Callable[[int], float]:
    base, span = _HEIGHT - _BOTTOM, _HEIGHT - _TOP - _BOTTOM
    return lambda tokens: round(base - span * max(0, min(tokens, ceiling)) / ceiling, 1)


def _scale(top: int) -> tuple[list[int], int]:
    """Choose round axis marks (1, 2 or 5 times a power of ten) and the ceiling above them."""
    rough = max(top, 1) / _TICKS
    power = 10 ** math.floor(math.log10(rough))
    step = max(1, round(next(m * power for m in (1, 2, 5, 10) if m * power >= rough)))
    ceiling = max(step, math.ceil(top / step) * step)
    return list(range(0, ceiling + 1, step)), ceiling


def _columns(turns: int, x: Callable[[int], float]) -> tuple[Tick, ...]:
    step = _scale(turns)[0][1]
    numbers = [1, *range(step, turns + 1, step)] if step > 1 else list(range(1, turns + 1))
    return tuple(Tick(x(number - 1), f"{number:,}") for number in numbers)


def _markers(
    turns: Sequence[ReplayTurn], x: Callable[[int], float], y: Callable[[int], float]
) -> tuple[Marker, ...]:
    return tuple(
        Marker(
            x(i),
            y(done.before),
            y(done.after),
            done.reactive,
            f"Call {turn.index}: request {done.before:,} to {done.after:,} tokens. "
            f"{describe_pass(done)}",
        )
        for i, turn in enumerate(turns)
        for done in turn.passes
        if done.changed
    )


def _labels(
    last: ReplayTurn, y: Callable[[int], float], *, with_history: bool
) -> tuple[Label, ...]:
    """Name the lines at their right ends, pushed apart where they would overlap."""
    wanted = [(y(last.request), REQUEST, last.request)]
    if last.window:
        wanted.append((y(last.window), WINDOW, last.window))
    if with_history:
        wanted.append((y(last.history), HISTORY, last.history))
    labels: list[Label] = []
    floor = float(_HEIGHT - _BOTTOM + 2)
    for natural, swatch, tokens in sorted(wanted, key=lambda item: -item[0]):
        height = min(natural, floor)
        labels.append(Label(height, swatch.key, f"{swatch.label} {short(tokens)}"))
        floor = round(height - _LINE_HEIGHT, 1)
    return tuple(labels)


def _summary(turns: Sequence[ReplayTurn], *, with_history: bool) -> str:
    last, passes = turns[-1], sum(p.changed for turn in turns for p in turn.passes)
    peak = max(turn.request for turn in turns)
    limit = f" in a window of {last.window:,}" if last.window else ""
    grown = f"the history grows to {last.history:,} tokens; " if with_history else ""
    return (
        f"Over {len(turns):,} calls {grown}the request peaks at {peak:,} tokens{limit} "
        f"and ends at {last.request:,}; {passes:,} passes."
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    lonely = "h0" if len(points) == 1 else ""  # a round line cap makes a dot of it
    return "M" + "L".join(f"{x:g},{y:g}" for x, y in points) + lonely


def _area(upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]]) -> str:
    return _path([*upper, *reversed(lower)]) + "Z"
