"""The metrics of this project: what they are, and the instruments that record them.

A metric is declared once, with the attribute keys it carries. A scope hands over all of its facts;
the declaration picks the few that belong on the metric, so an id can never slip onto one.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from opentelemetry.metrics import Histogram

from lovia_otel import names
from lovia_otel._forking import renew_in_child

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opentelemetry.context import Context
    from opentelemetry.metrics import Counter, Meter, UpDownCounter

    from lovia_otel.facts import Fact

    Write = Callable[[float, dict[str, Fact], Context | None], None]
    Picked = dict[int, dict[str, Fact]]  # by the number of the metrics with these attributes

MAX_VALUES_PER_KEY: Final = 100  # distinct texts that one attribute key may have on metrics


@dataclass(frozen=True)
class Metric:
    """One metric: its name, kind, unit, meaning, attribute keys and, for a histogram, buckets.

    ``constant`` attributes have one value only and are required by a convention.
    """

    name: str
    kind: Literal["counter", "updown", "histogram"]
    unit: str
    description: str
    attributes: tuple[str, ...] = ()
    buckets: Sequence[float] | None = None
    constant: Mapping[str, str] = field(default_factory=dict)


def _seconds(name: str, description: str, *attributes: str) -> Metric:
    return Metric(
        name, "histogram", names.UNIT_SECONDS, description, attributes, names.SECOND_BUCKETS
    )


def _tokens(name: str, description: str, *attributes: str) -> Metric:
    return Metric(
        name, "histogram", names.UNIT_TOKENS, description, attributes, names.TOKEN_BUCKETS
    )


def _ratio(name: str, description: str, *attributes: str) -> Metric:
    return Metric(name, "histogram", names.UNIT_RATIO, description, attributes, names.RATIO_BUCKETS)


def _bytes(name: str, description: str, *attributes: str) -> Metric:
    return Metric(name, "histogram", names.UNIT_BYTES, description, attributes, names.BYTE_BUCKETS)


def _count(name: str, unit: str, description: str, *attributes: str) -> Metric:
    return Metric(name, "counter", unit, description, attributes)


def _money(name: str, description: str) -> Metric:
    return Metric(name, "counter", names.UNIT_CURRENCY, description, _MONEY)


def _usage(name: str, description: str) -> Metric:
    modality = {names.TOKEN_MODALITY: names.MODALITY_UNKNOWN}
    keys = (*_INFERENCE, names.INFERENCE_PURPOSE)
    return Metric(name, "counter", names.UNIT_TOKENS, description, keys, constant=modality)


_CALL: Final = (names.AGENT_NAME, names.REQUEST_MODEL, names.TOKENS_SOURCE)
_COST: Final = (names.AGENT_NAME, names.REQUEST_MODEL, names.PROVIDER_NAME)
_MONEY: Final = (*_COST, names.COST_CURRENCY)
_INFERENCE: Final = (
    *(names.OPERATION_NAME, names.PROVIDER_NAME, names.REQUEST_MODEL, names.RESPONSE_MODEL),
    *(names.SERVER_ADDRESS, names.SERVER_PORT),
)

CONTEXT_METRICS: Final = (
    _tokens(names.METRIC_HISTORY_SIZE, "Size of the history, as if never compacted.", *_CALL),
    _tokens(names.METRIC_REQUEST_SIZE, "Size of the request that a model call sends.", *_CALL),
    _ratio(names.METRIC_WINDOW_UTILIZATION, "Share of the window that a request fills.", *_CALL),
    _count(
        names.METRIC_SAVED_TOKENS,
        names.UNIT_TOKENS,
        "Tokens that compaction kept out of model calls; calls that failed are left out.",
        *_CALL,
    ),
    _count(
        names.METRIC_INFLATED_TOKENS,
        names.UNIT_TOKENS,
        "Tokens by which requests were larger than the history they stand for.",
        *_CALL,
    ),
    _ratio(
        names.METRIC_PREFIX_REUSED,
        "Share of a request that equals the start of the previous one.",
        *(names.AGENT_NAME, names.REQUEST_MODEL),
    ),
)

COMPACTION_METRICS: Final = (
    _count(
        names.METRIC_SUMMARY_INPUT_TOKENS,
        names.UNIT_TOKENS,
        "Input tokens that compaction's own model calls spent.",
        *_COST,
    ),
    _count(
        names.METRIC_SUMMARY_OUTPUT_TOKENS,
        names.UNIT_TOKENS,
        "Output tokens that compaction's own model calls spent.",
        *_COST,
    ),
    _seconds(
        names.METRIC_COMPACTION_DURATION,
        "Time that a compaction pass took.",
        *(names.AGENT_NAME, names.COMPACTION_POLICY, names.COMPACTION_TRIGGER),
        *(names.COMPACTION_OUTCOME, names.ERROR_TYPE),
    ),
    _ratio(
        names.METRIC_COMPACTION_REDUCTION,
        "Share of the request that a pass took off.",
        *(names.COMPACTION_POLICY, names.COMPACTION_TRIGGER),
    ),
    Metric(
        names.METRIC_COMPACTION_CHUNKS,
        "histogram",
        names.UNIT_CHUNKS,
        "Chunks that a pass folded into the summary.",
        (names.COMPACTION_POLICY,),
        names.CHUNK_BUCKETS,
    ),
    _seconds(
        names.METRIC_STAGE_DURATION,
        "Time that a stage of a pass took.",
        *(names.COMPACTION_STAGE, names.COMPACTION_OUTCOME),
    ),
    _count(
        names.METRIC_FREED_TOKENS,
        names.UNIT_TOKENS,
        "Tokens that stages took off requests.",
        *(names.COMPACTION_STAGE, names.COMPACTION_OUTCOME),
    ),
)

COST_METRICS: Final = (
    _money(names.METRIC_COST_REQUEST, "What the model calls of turns cost."),
    _money(names.METRIC_COST_SUMMARY, "What compaction's own model calls cost."),
    _money(
        names.METRIC_COST_SAVED,
        "What the tokens would have cost that calls did not have to send.",
    ),
    _money(
        names.METRIC_COST_INFLATED,
        "What the tokens cost by which requests were larger than the history they stand for.",
    ),
    _money(
        names.METRIC_COST_CACHE_LOST,
        "What calls cost more because a pass moved what the provider's cache held.",
    ),
    _count(
        names.METRIC_UNPRICED_CALLS,
        names.UNIT_CALLS,
        "Model calls that have no cost because no price of their model is known.",
        *(names.REQUEST_MODEL, names.PROVIDER_NAME, names.INFERENCE_PURPOSE),
    ),
)

STORAGE_METRICS: Final = (
    _seconds(
        names.METRIC_ARCHIVE_DURATION,
        "Time that archiving removed entries took.",
        *(names.ARCHIVE_STORE, names.ERROR_TYPE),
    ),
    _bytes(
        names.METRIC_ARCHIVE_SIZE,
        "Bytes that one archive write stored.",
        names.ARCHIVE_STORE,
    ),
    _seconds(
        names.METRIC_CHECKPOINT_DURATION,
        "Time that saving a checkpoint took.",
        *(names.CHECKPOINT_STORE, names.ERROR_TYPE),
    ),
    _bytes(
        names.METRIC_CHECKPOINT_SIZE,
        "Bytes that saving a checkpoint wrote.",
        names.CHECKPOINT_STORE,
    ),
)

RUN_METRICS: Final = (
    _seconds(
        names.METRIC_RUN_DURATION,
        "Time that an agent's run took.",
        *(names.OPERATION_NAME, names.AGENT_NAME, names.RUN_OUTCOME, names.ERROR_TYPE),
    ),
    Metric(
        names.METRIC_RUNS_ACTIVE,
        "updown",
        names.UNIT_RUNS,
        "Runs that are under way.",
        (names.AGENT_NAME,),
    ),
    _seconds(
        names.METRIC_TOOL_DURATION,
        "Time that a tool call took.",
        *(names.OPERATION_NAME, names.TOOL_NAME, names.TOOL_TYPE),
        *(names.AGENT_NAME, names.ERROR_TYPE),
    ),
    _count(
        names.METRIC_HANDOFFS,
        names.UNIT_HANDOFFS,
        "Handoffs from one agent to another.",
        *(names.HANDOFF_SOURCE, names.HANDOFF_TARGET),
    ),
    _count(
        names.METRIC_CANCELLATIONS,
        names.UNIT_CANCELLATIONS,
        "Runs that were cancelled.",
        *(names.CANCELLATION_REASON, names.CANCELLATION_CHECKPOINT),
    ),
)

INFERENCE_METRICS: Final = (
    _seconds(
        names.METRIC_INFERENCE_DURATION,
        "Time that a model call took.",
        *(*_INFERENCE, names.INFERENCE_PURPOSE, names.ERROR_TYPE),
    ),
    _seconds(
        names.METRIC_TIME_TO_FIRST_CHUNK,
        "Time until a streamed answer began.",
        *(*_INFERENCE, names.INFERENCE_PURPOSE),
    ),
    _usage(names.METRIC_INPUT_TOKENS, "Input tokens of model calls, cached ones included."),
    _usage(names.METRIC_OUTPUT_TOKENS, "Output tokens of model calls, reasoning included."),
    _usage(names.METRIC_CACHE_READ_TOKENS, "Input tokens that came from the provider's cache."),
    _usage(names.METRIC_CACHE_WRITE_TOKENS, "Input tokens written to the provider's cache."),
    _usage(names.METRIC_REASONING_TOKENS, "Output tokens that the model reasoned with."),
)

TELEMETRY_METRICS: Final = (
    _count(
        names.METRIC_DROPPED_EVENTS,
        names.UNIT_EVENTS,
        "Telemetry that was lost: recording it failed, or no receiver took it.",
    ),
)

METRICS: Final = (
    *CONTEXT_METRICS,
    *COMPACTION_METRICS,
    *COST_METRICS,
    *STORAGE_METRICS,
    *RUN_METRICS,
    *INFERENCE_METRICS,
    *TELEMETRY_METRICS,
)


class Instruments:
    """The instruments of one meter, and the bound on the texts that their attributes take."""

    def __init__(self, meter: Meter) -> None:
        alike = _alike()
        self._metrics = {
            metric.name: (metric, _writer(meter, metric), alike[metric.name]) for metric in METRICS
        }
        self._seen: dict[str, set[str]] = {}
        self.begin_anew()
        renew_in_child(self)

    def begin_anew(self) -> None:
        """Have a lock that nobody holds, in a forked process."""
        self._lock = threading.Lock()

    def record(
        self,
        name: str,
        value: object,
        facts: Mapping[str, Fact],
        context: Context | None = None,
        picked: Picked | None = None,
    ) -> None:
        """Record ``value`` on the metric called ``name``, with those facts that belong on it.

        An unknown value (``None``) and a negative one on a counter or histogram record nothing:
        an SDK drops negatives too, but logs each of them. ``context`` holds the span that an
        exemplar points at. ``picked`` is kept by a caller that records several metrics of the same
        facts: many of them have the same attributes.
        """
        if not isinstance(value, (int, float)):
            return
        metric, write, alike = self._metrics[name]
        if value < 0 and metric.kind != "updown":
            return
        if picked is None:
            write(value, self._pick(metric, facts), context)
            return
        attributes = picked.get(alike)
        if attributes is None:
            attributes = picked[alike] = self._pick(metric, facts)
        write(value, attributes, context)

    def _pick(self, metric: Metric, facts: Mapping[str, Fact]) -> dict[str, Fact]:
        picked: dict[str, Fact] = dict(metric.constant)
        for key in metric.attributes:
            fact = facts.get(key)
            if fact is not None:
                picked[key] = self._bounded(key, fact) if isinstance(fact, str) else fact
        return picked

    def _bounded(self, key: str, text: str) -> str:
        """Admit the first texts of a key; later ones share one value, so series stay bounded."""
        seen = self._seen.get(key)
        if seen is not None and text in seen:
            return text
        with self._lock:
            seen = self._seen.setdefault(key, set())
            if len(seen) >= MAX_VALUES_PER_KEY and text not in seen:
                return names.OTHER
            seen.add(text)
            return text


def _alike() -> dict[str, int]:
    """Return a number for each metric, the same for all that have the same attributes."""
    numbers: dict[tuple[object, ...], int] = {}
    return {
        metric.name: numbers.setdefault(
            (metric.attributes, tuple(metric.constant.items())), len(numbers)
        )
        for metric in METRICS
    }


def _create(meter: Meter, metric: Metric) -> Counter | Histogram | UpDownCounter:
    if metric.kind == "counter":
        return meter.create_counter(metric.name, metric.unit, metric.description)
    if metric.kind == "updown":
        return meter.create_up_down_counter(metric.name, metric.unit, metric.description)
    return meter.create_histogram(
        metric.name,
        metric.unit,
        metric.description,
        explicit_bucket_boundaries_advisory=metric.buckets,
    )


def _writer(meter: Meter, metric: Metric) -> Write:
    # The API's instrument classes share no method name: a histogram records, the others add.
    instrument = _create(meter, metric)
    return instrument.record if isinstance(instrument, Histogram) else instrument.add
