"""docs/telemetry-reference.md says all that is emitted, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import anyio
import pytest

from lovia_otel import names
from lovia_otel.catalogue import ATTRIBUTES, EVENTS, SPANS
from lovia_otel.catalogue.spans import STOPPED
from lovia_otel.metrics import METRICS
from tests.meta import emissions
from tests.meta.reference import PAGE, is_content, page

if TYPE_CHECKING:
    from lovia_otel.catalogue import Attribute, LogEvent, Span
    from lovia_otel.metrics import Metric
    from tests.meta.emissions import Emissions

_ELSEWHERE: Final = {attribute.name for attribute in ATTRIBUTES if attribute.elsewhere}
#: On metrics and links only, never on a span or an event.
_NOT_ON_SPANS: Final = {names.TOKEN_MODALITY, names.LINK_TYPE}
_PYTHON: Final = {"string": str, "int": int, "double": float, "boolean": bool}


@pytest.fixture(scope="session")
def emitted(tmp_path_factory: pytest.TempPathFactory, _offline_vocabulary: None) -> Emissions:
    """Let real runs emit everything."""
    with emissions.collecting() as found:
        anyio.run(emissions.everything, tmp_path_factory.mktemp("emissions"))
    return found


def test_the_page_is_what_the_catalogue_says() -> None:
    """`make reference` would change nothing."""
    assert PAGE.read_text("utf-8") == page(), "run `make reference`"


def test_the_catalogue_has_every_name_once() -> None:
    """Each attribute, span and event of names.py is described, once, and nothing else is."""
    described = [attribute.name for attribute in ATTRIBUTES]
    assert sorted(set(described)) == sorted(described)
    other = ("METRIC_", "EVENT_", "SPAN_", "ENV_", "SCOPE_", "SCHEMA_")
    constants = {name: value for name, value in vars(names).items() if name.isupper()}
    dotted = {
        value
        for name, value in constants.items()
        if isinstance(value, str) and "." in value and not name.startswith(other)
    }
    assert set(described) == dotted
    spans = {value for name, value in constants.items() if name.startswith("SPAN_")}
    assert [span.name for span in SPANS] == list(dict.fromkeys(span.name for span in SPANS))
    assert {span.name for span in SPANS} == spans
    told = {value for name, value in constants.items() if name.startswith("EVENT_")}
    assert {event.name for event in EVENTS} == told
    assert len(EVENTS) == len(told)


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda attribute: attribute.name)
def test_an_example_is_one(attribute: Attribute) -> None:
    """Each example has the type that is said, and is one of the values where these are listed."""
    assert _fits(attribute, attribute.example)
    assert not attribute.meaning.endswith(".")


@pytest.mark.parametrize("span", SPANS, ids=lambda span: span.name)
def test_a_span_is_as_described(emitted: Emissions, span: Span) -> None:
    """What a span has is described, with its kind; what is described, it has in some run."""
    held = emitted.spans[span.name]
    assert set(held) - span.attributes == set()
    assert span.attributes - set(held) - _ELSEWHERE - set(STOPPED) == set()
    assert {kind in span.kind for kind in emitted.kinds[span.name]} == {True}
    assert emitted.links[span.name] == set(span.link)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_an_event_is_as_described(emitted: Emissions, event: LogEvent) -> None:
    """What an event tells is described, with its severity; what is described, it tells once."""
    told = emitted.events[event.name]
    assert set(told) - set(event.attributes) == set()
    assert set(event.attributes) - set(told) - _ELSEWHERE == set()
    assert emitted.severities[event.name] == {event.severity}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_is_as_declared(emitted: Emissions, metric: Metric) -> None:
    """Kind, unit and attributes of a metric are those declared, and each attribute is in use."""
    kind, unit, keys = emitted.metrics[metric.name]
    assert (kind, unit) == (metric.kind, metric.unit)
    assert keys - _ELSEWHERE == {*metric.attributes, *metric.constant} - _ELSEWHERE


def test_nothing_else_is_emitted(emitted: Emissions) -> None:
    """There is no span, event or metric without a description."""
    assert set(emitted.spans) == {span.name for span in SPANS}
    assert set(emitted.events) == {event.name for event in EVENTS}
    assert set(emitted.metrics) == {metric.name for metric in METRICS}


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda attribute: attribute.name)
def test_an_attribute_is_as_described(emitted: Emissions, attribute: Attribute) -> None:
    """Each value that an attribute has in any run has the type, and is among the values, said."""
    on_spans = [value for held in emitted.spans.values() for value in held.get(attribute.name, ())]
    on_events = [
        value for told in emitted.events.values() for value in told.get(attribute.name, ())
    ]
    values = on_spans if is_content(attribute) else [*on_spans, *on_events]
    assert [value for value in values if not _fits(attribute, value)] == []
    seen = bool(on_spans or on_events)
    assert seen != (attribute.name in _ELSEWHERE | _NOT_ON_SPANS)


def _fits(attribute: Attribute, value: Any) -> bool:
    if attribute.type == "string[]":
        return isinstance(value, tuple | list) and all(isinstance(item, str) for item in value)
    allowed = not attribute.values or value in attribute.values
    return type(value) is _PYTHON[attribute.type] and allowed
