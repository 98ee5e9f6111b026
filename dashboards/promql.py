"""Expressions over our metrics, written so that they hold when data is missing or restarts.

- Rates come before sums, so that a counter that starts anew after a restart counts as such.
- What may never have happened (failures, cancellations, summaries) counts as zero where it is
  added or subtracted; what was never measured stays without a value.
- A selector is narrowed by each chosen variable that its metric carries, and by no other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from dashboards import naming
from lovia_otel import names
from lovia_otel.metrics import METRICS

if TYPE_CHECKING:
    from lovia_otel.metrics import Metric

#: The span of time over which rates are taken, and the whole time range of the dashboard.
INTERVAL: Final = "$__rate_interval"
RANGE: Final = "$__range"

#: Label names, of the attributes that expressions group by or choose by.
AGENT: Final = naming.label(names.AGENT_NAME)
MODEL: Final = naming.label(names.REQUEST_MODEL)
PURPOSE: Final = naming.label(names.INFERENCE_PURPOSE)
ERROR: Final = naming.label(names.ERROR_TYPE)
OUTCOME: Final = naming.label(names.COMPACTION_OUTCOME)
TRIGGER: Final = naming.label(names.COMPACTION_TRIGGER)
STAGE: Final = naming.label(names.COMPACTION_STAGE)
RUN_OUTCOME: Final = naming.label(names.RUN_OUTCOME)
TOOL: Final = naming.label(names.TOOL_NAME)
HANDOFF_SOURCE: Final = naming.label(names.HANDOFF_SOURCE)
HANDOFF_TARGET: Final = naming.label(names.HANDOFF_TARGET)
CURRENCY: Final = naming.label(names.COST_CURRENCY)
CANCELLATION_REASON: Final = naming.label(names.CANCELLATION_REASON)
CANCELLATION_CHECKPOINT: Final = naming.label(names.CANCELLATION_CHECKPOINT)
ARCHIVE_STORE: Final = naming.label(names.ARCHIVE_STORE)
CHECKPOINT_STORE: Final = naming.label(names.CHECKPOINT_STORE)

#: The label that tells services apart is chosen in the dashboard: `job` where Prometheus has it,
#: `service_name` where the backend keeps (VictoriaMetrics) or promotes the resource's attributes.
_SERVICE: Final = '${service_label}=~"$service"'
_CHOICES: Final = {names.AGENT_NAME: "$agent", names.REQUEST_MODEL: "$model"}
_METRICS: Final = {metric.name: metric for metric in METRICS}


@dataclass(frozen=True, slots=True)
class Source:
    """A metric as expressions read it.

    Attributes:
        metric: Its declaration.
        matchers: What its series must match beside the dashboard's choices.
    """

    metric: Metric
    matchers: tuple[str, ...] = ()

    def where(self, *matchers: str) -> Source:
        """Return the source with further matchers, each like `label="value"`."""
        return replace(self, matchers=(*self.matchers, *matchers))

    @property
    def value(self) -> str:
        """The selector of a counter's or gauge's series."""
        return self._select(0)

    @property
    def bucket(self) -> str:
        """The selector of a histogram's buckets."""
        return self._select(0)

    @property
    def count(self) -> str:
        """The selector of how many values a histogram has."""
        return self._select(1)

    @property
    def sum(self) -> str:
        """The selector of the sum of a histogram's values."""
        return self._select(2)

    def _select(self, position: int) -> str:
        chosen = [
            f'{naming.label(key)}=~"{variable}"'
            for key, variable in _CHOICES.items()
            if key in self.metric.attributes
        ]
        matchers = ",".join([_SERVICE, *chosen, *self.matchers])
        return f"{naming.series(self.metric)[position]}{{{matchers}}}"


def source(metric: str) -> Source:
    """Return the metric with this OpenTelemetry name as a source."""
    return Source(_METRICS[metric])


def total(expr: str, *by: str) -> str:
    """Return the sum of an expression, over all of its series or by some labels."""
    return f"sum by ({', '.join(by)}) ({expr})" if by else f"sum({expr})"


def rate(selector: str, *by: str, over: str = INTERVAL) -> str:
    """Return by how much a counter grows in a second."""
    return total(f"rate({selector}[{over}])", *by)


def increase(selector: str, *by: str, over: str = RANGE) -> str:
    """Return by how much a counter grew, restarts counted in."""
    return total(f"increase({selector}[{over}])", *by)


def per_minute(selector: str, *by: str) -> str:
    """Return by how much a counter grows in a minute."""
    return f"60 * {rate(selector, *by)}"


def quantile(share: float, histogram: Source, *by: str, over: str = INTERVAL) -> str:
    """Return the value below which this share of a histogram's values lies.

    Without a value in the time it is not a number, which panels show as a gap.
    """
    return f"histogram_quantile({share:g}, {rate(histogram.bucket, 'le', *by, over=over)})"


def average(histogram: Source, *by: str, over: str = INTERVAL) -> str:
    """Return the mean of a histogram's values."""
    return f"{rate(histogram.sum, *by, over=over)} / {rate(histogram.count, *by, over=over)}"


def above(histogram: Source, bound: float, *by: str) -> str:
    """Return the share of a histogram's values above one of its bounds.

    Backends write whole bounds with and without a decimal (`1`, `1.0`).
    """
    if bound not in (histogram.metric.buckets or ()):
        raise ValueError(f"{histogram.metric.name} has no bucket boundary {bound}")
    text = rf"{bound:g}(\\.0)?" if float(bound).is_integer() else f"{bound:g}".replace(".", r"\\.")
    below = histogram.where(f'le=~"{text}"').bucket
    return f"1 - {rate(below, *by)} / {rate(histogram.count, *by)}"


def share(part: str, whole: str, *by: str, over: str = INTERVAL) -> str:
    """Return the share that one counter's growth has in another's.

    It is zero where the part never happened, and not a number where the whole did not.
    """
    numerator, denominator = rate(part, *by, over=over), rate(whole, *by, over=over)
    return f"{or_zero_of(numerator, denominator)} / {denominator}"


def or_zero(expr: str) -> str:
    """Return a sum, or zero when none of its series exists."""
    return f"({expr} or vector(0))"


def or_zero_of(expr: str, other: str) -> str:
    """Return a sum by labels, or zero for those labels of the other one that it lacks."""
    return f"({expr} or 0 * {other})"


def or_none(expr: str, label: str, word: str = "none") -> str:
    """Return a sum by a label, or one zero with `word` for that label when nothing happened."""
    return f'{expr} or on() label_replace(vector(0), "{label}", "{word}", "", "")'
