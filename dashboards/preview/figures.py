"""Values as people read them, in the units that the panels name."""

from __future__ import annotations

from typing import Final

from dashboards import frame

_PREFIXES: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY: Final = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_TIMES: Final = ((3_600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "µs"))


def figure(value: float, unit: str) -> str:
    """Write a value in a unit of Grafana's, short enough for an axis."""
    if unit == frame.SHARE:
        return f"{_short(value * 100)} %"
    if unit == frame.SECONDS:
        return _scaled(value, _TIMES, "s")
    if unit == frame.BYTES:
        return _scaled(value, _BINARY, "B")
    if unit.startswith("si:"):
        return f"{_scaled(value, _PREFIXES, '')} {unit[len('si:') :]}"
    if unit.startswith("currency"):
        return f"{_short(value)} {unit[len('currency') :]}"
    suffix = {frame.PER_MINUTE: "/min", frame.PER_SECOND: "/s"}.get(unit, "")
    return f"{_scaled(value, _PREFIXES, '')}{' ' + suffix if suffix else ''}"


def _scaled(value: float, steps: tuple[tuple[float, str], ...], plain: str) -> str:
    for size, name in steps:
        if abs(value) >= size:
            return f"{_short(value / size)} {name}".strip()
    return f"{_short(value)} {plain}".strip()


def _short(value: float) -> str:
    """Write a number with three digits that count, and no zeros behind the point."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
