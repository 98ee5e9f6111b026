"""Pictures in SVG: curves and stacked bars over time, and how values spread over time."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

from dashboards.preview.figures import figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dashboards.preview.prometheus import Span

_LEFT: Final = 88  # pixels for the labels of the vertical axis
_BOTTOM: Final = 18
_TOP: Final = 8
_LINES: Final = 4  # grid lines, about
_MOMENTS: Final = 5  # labels of the time axis


@dataclass(frozen=True, slots=True)
class Curve:
    """A named, coloured series: pairs of Unix time in seconds and value."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Canvas:
    """The area of a chart: its size in pixels, its time range, its values' unit and range."""

    width: int
    height: int
    span: Span
    unit: str
    low: float
    high: float

    def x(self, at: float) -> float:
        """Return where a moment stands."""
        share = (at - self.span.start) / (self.span.end - self.span.start)
        return _LEFT + share * (self.width - _LEFT)

    def y(self, value: float) -> float:
        """Return where a value stands."""
        share = (value - self.low) / (self.high - self.low)
        return self.height - _BOTTOM - share * (self.height - _BOTTOM - _TOP)

    def framed(self, inside: Sequence[str]) -> str:
        """Return the picture with its axes."""
        size = f'width="{self.width}" height="{self.height}"'
        return f"<svg {size}>{''.join(self._axes())}{''.join(inside)}</svg>"

    def _axes(self) -> Iterator[str]:
        for value in steps(self.low, self.high):
            y = self.y(value)
            label = escape(figure(value, self.unit))
            yield f'<line class="grid" x1="{_LEFT}" x2="{self.width}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        length = self.span.end - self.span.start
        for k in range(_MOMENTS):
            at = self.span.start + length * (k + 0.5) / _MOMENTS
            shown = time.strftime("%H:%M:%S", time.gmtime(at))
            place = f'x="{self.x(at):.1f}" y="{self.height - 3}" text-anchor="middle"'
            yield f"<text {place}>{shown}</text>"


def steps(low: float, high: float) -> list[float]:
    """Return round values between two others, at which an axis has lines."""
    distance = (high - low) / _LINES
    power = 10 ** math.floor(math.log10(distance))
    step = min((m * power for m in (1, 2, 5, 10)), key=lambda size: abs(size - distance))
    first, last = math.ceil(low / step), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def lines(
    curves: Sequence[Curve], *, width: int, height: int, span: Span, unit: str, least_high: float
) -> str:
    """Return curves; `least_high` is what the axis reaches in any case."""
    values = [value for curve in curves for _, value in curve.points]
    low, high = min([0.0, *values]), max([least_high, *values])
    canvas = Canvas(width, height, span, unit, low, high * 1.02 if high > low else low + 1)
    return canvas.framed([_line(curve, canvas) for curve in curves])


def _line(curve: Curve, canvas: Canvas) -> str:
    corners = [(canvas.x(at), canvas.y(value)) for at, value in curve.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{curve.colour}"/>' for x, y in corners
    )
    return f'<polyline points="{path}" stroke="{curve.colour}" class="curve"/>{dots}'


def bars(curves: Sequence[Curve], *, width: int, height: int, span: Span, unit: str) -> str:
    """Return bars that stand on each other, one pile for each moment."""
    piles: dict[float, float] = {}
    boxes: list[tuple[float, float, float, str]] = []
    for curve in curves:
        for at, value in curve.points:
            base = piles.get(at, 0.0)
            piles[at] = base + value
            boxes.append((at, base, value, curve.colour))
    high = max(piles.values(), default=0.0)
    canvas = Canvas(width, height, span, unit, 0.0, high * 1.02 if high > 0 else 1.0)
    thick = max((canvas.x(span.start + span.step) - canvas.x(span.start)) * 0.7, 1)
    return canvas.framed([_box(box, canvas, thick) for box in boxes])


def _box(box: tuple[float, float, float, str], canvas: Canvas, thick: float) -> str:
    at, base, value, colour = box
    top, bottom = canvas.y(base + value), canvas.y(base)
    place = f'x="{canvas.x(at) - thick / 2:.1f}" y="{top:.1f}"'
    return f'<rect {place} width="{thick:.1f}" height="{bottom - top:.1f}" fill="{colour}"/>'


def heat(
    bounds: Sequence[float],
    cells: Sequence[tuple[float, int, float]],
    *,
    width: int,
    height: int,
    span: Span,
    unit: str,
    colour: str,
) -> str:
    """Return how many values fell where over time.

    Args:
        bounds: The upper bounds of the buckets, ascending.
        cells: Moment, position of the bucket, and how many values fell into it.
        width: Pixels.
        height: Pixels.
        span: The time range.
        unit: The unit of the bounds.
        colour: The colour of the fullest cells.
    """
    canvas = Canvas(width, height, span, unit, 0, len(bounds))
    most = max((count for _, _, count in cells), default=1.0)
    thick = max(canvas.x(span.start + span.step) - canvas.x(span.start) - 1, 1)
    tall = canvas.y(0) - canvas.y(1)
    boxes = [
        f'<rect x="{canvas.x(at) - thick / 2:.1f}" y="{canvas.y(bucket + 1):.1f}"'
        f' width="{thick:.1f}" height="{tall:.1f}" fill="{colour}"'
        f' fill-opacity="{math.sqrt(count / most):.2f}"/>'
        for at, bucket, count in cells
    ]
    every = max(len(bounds) // 6, 1)
    labels = [
        f'<text x="{_LEFT - 6}" y="{canvas.y(k + 1) + 4:.1f}" text-anchor="end">'
        f"{escape(figure(bound, unit))}</text>"
        for k, bound in enumerate(bounds)
        if k % every == 0 and math.isfinite(bound)
    ]
    size = f'width="{width}" height="{height}"'
    return f"<svg {size}>{''.join(boxes)}{''.join(labels)}</svg>"
