"""Names as Prometheus stores them: the way from an OTLP metric to its series and labels.

Prometheus 3's OTLP receiver, the Collector's Prometheus exporter and VictoriaMetrics with
`-opentelemetry.usePrometheusNaming` agree on these rules, which are those of the specification's
page on compatibility with Prometheus.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from lovia_otel.metrics import Metric

Kind = Literal["counter", "updown", "histogram"]

_UNITS: Final = {"s": "seconds", "By": "bytes", "1": "", "": ""}
_ANNOTATION: Final = re.compile(r"\{[^}]*\}")  # {token}: says what is counted, and is no unit
_SUFFIXES: Final[dict[Kind, tuple[str, ...]]] = {
    "counter": ("_total",),
    "updown": ("",),  # Prometheus has no such kind: a gauge
    "histogram": ("_bucket", "_count", "_sum"),
}


def label(attribute: str) -> str:
    """Return the label that an attribute key becomes: what no label may hold gives underscores."""
    name = re.sub(r"[^a-zA-Z0-9_]", "_", attribute)
    return f"key_{name}" if name[:1].isdigit() else name


def base(name: str, unit: str, kind: Kind) -> str:
    """Return a metric's name without the suffix of its kind: underscores, then the unit.

    Raises:
        ValueError: The unit is none that this project uses, so its suffix is not known here.
    """
    plain = _ANNOTATION.sub("", unit)
    if plain not in _UNITS:
        raise ValueError(f"{name}: the unit {unit!r} has no known suffix")
    if kind == "updown" and plain == "1":
        raise ValueError(f"{name}: backends disagree on the suffix of a gauge with unit 1")
    words = [word for word in re.split(r"[^a-zA-Z0-9:]+", name) if word]
    suffix = _UNITS[plain]
    if suffix and suffix not in words:
        words.append(suffix)
    if kind == "counter":
        words = [word for word in words if word != "total"]
    return "_".join(words)


def series_of(name: str, unit: str, kind: Kind) -> tuple[str, ...]:
    """Return the names of all series of a metric: one, or three for a histogram."""
    stem = base(name, unit, kind)
    return tuple(f"{stem}{suffix}" for suffix in _SUFFIXES[kind])


def series(metric: Metric) -> tuple[str, ...]:
    """Return the names of all series of a metric that this project declares."""
    return series_of(metric.name, metric.unit, metric.kind)


def labels(metric: Metric) -> frozenset[str]:
    """Return the labels that a metric's attributes become, and `le` for a histogram's buckets."""
    own = {label(key) for key in (*metric.attributes, *metric.constant)}
    return frozenset(own | {"le"} if metric.kind == "histogram" else own)
