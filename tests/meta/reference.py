"""Makes docs/telemetry-reference.md out of the catalogue and the declarations of the metrics.

python -m tests.meta.reference
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

from dashboards import naming
from lovia_otel import names
from lovia_otel.catalogue import ATTRIBUTES, EVENTS, SPANS
from lovia_otel.catalogue.spans import STOPPED
from lovia_otel.metrics import METRICS
from tests.paths import REPO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lovia_otel.catalogue import Attribute, LogEvent, Span
    from lovia_otel.metrics import Metric

PAGE: Final = REPO / "docs" / "telemetry-reference.md"
_BY_NAME: Final = {attribute.name: attribute for attribute in ATTRIBUTES}
#: What a point of a metric may be worth, by its unit.
_WORTH: Final = {
    names.UNIT_TOKENS: 12_480,
    names.UNIT_SECONDS: 0.25,
    names.UNIT_RATIO: 0.8,
    names.UNIT_BYTES: 52_311,
    names.UNIT_CURRENCY: 0.0184,
}
_TYPES: Final = {"counter": "counter", "updown": "up-down counter", "histogram": "histogram"}
_INTRODUCTION: Final = """\
# Telemetry reference

Everything that is emitted, with its type, its unit, what it means, and an example. `make reference`
makes this page out of `lovia_otel.catalogue` and `lovia_otel.metrics`; what to do with it is in
[telemetry](telemetry.md).

`gen_ai.*` follows the GenAI semantic conventions, whose schema every span and metric names
(`{schema}`); `lovia.*` is our own. What is not
known is absent. Values that are *content* are absent, too, unless [capture](telemetry.md#content)
is on.
"""


def page() -> str:
    """Return the whole page."""
    parts = (_introduction(), _spans(), _attributes(), _metrics(), _events())
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def _introduction() -> Iterator[str]:
    yield _INTRODUCTION.format(schema=names.SCHEMA_URL)


def _spans() -> Iterator[str]:
    yield "## Spans\n"
    yield f"A span that ends with an error or a cancellation also has {_keys(STOPPED)}.\n"
    for span in SPANS:
        yield from _span(span)


def _span(span: Span) -> Iterator[str]:
    yield f"### `{f'{span.name} {span.rest}'.strip()}`\n"
    yield f"{_sentence(span.meaning)} Kind: {span.kind}.\n"
    yield f"- from the start: {_keys(span.start)}"
    yield f"- until the end: {_keys(key for key in span.end if key not in STOPPED)}"
    if span.link:
        yield f"- on its link: {_keys(span.link)}"
    yield ""


def _attributes() -> Iterator[str]:
    yield "## Attributes\n"
    yield "| attribute | type | unit | meaning | example |"
    yield "|---|---|---|---|---|"
    for attribute in ATTRIBUTES:
        yield _attribute(attribute)
    yield "\n¹ Not known to lovia's own runtime: from other sources only.\n"


def _attribute(attribute: Attribute) -> str:
    meaning = attribute.meaning
    if attribute.values:
        meaning += ": " + ", ".join(f"`{value}`" for value in attribute.values)
    mark = " ¹" if attribute.elsewhere else ""
    cells = (
        f"`{attribute.name}`{mark}",
        attribute.type,
        f"`{attribute.unit}`" if attribute.unit else "",
        meaning,
        f"`{_value(attribute)}`",
    )
    return f"| {' | '.join(cells)} |"


def _value(attribute: Attribute) -> str:
    example = attribute.example
    return example if isinstance(example, str) else json.dumps(example)


def _metrics() -> Iterator[str]:
    yield "## Metrics\n"
    yield "Examples are as Prometheus stores them.\n"
    for metric in METRICS:
        yield f"### `{metric.name}`\n"
        yield f"{metric.description} A {_TYPES[metric.kind]}, in `{metric.unit}`"
        if metric.buckets is not None:
            yield f"with the bounds {', '.join(f'{bound:g}' for bound in metric.buckets)}"
        yield f"by {_keys((*metric.attributes, *metric.constant)) or 'nothing'}.\n"
        yield f"```text\n{_series(metric)}\n```\n"


def _series(metric: Metric) -> str:
    worth = _WORTH.get(metric.unit, 1)
    examples = {key: _value(_BY_NAME[key]) for key in metric.attributes if key != names.ERROR_TYPE}
    labels = {naming.label(key): value for key, value in {**examples, **metric.constant}.items()}
    if metric.buckets is not None:
        labels["le"] = f"{next(bound for bound in metric.buckets if bound >= worth):g}"
        worth = 1
    shown = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return f"{naming.series(metric)[0]}{{{shown}}} {worth}"


def _events() -> Iterator[str]:
    yield "## Log events\n"
    for event in EVENTS:
        yield from _event(event)


def _event(event: LogEvent) -> Iterator[str]:
    yield f"### `{event.name}`\n"
    yield f"{_sentence(event.meaning)} Severity: {event.severity}.\n"
    yield f"It tells {_keys(event.attributes)}.\n"
    told = [_BY_NAME[key] for key in dict.fromkeys(event.attributes) if key not in STOPPED]
    example = {
        attribute.name: attribute.example
        for attribute in told
        if not attribute.elsewhere and not is_content(attribute)
    }
    yield f"```json\n{json.dumps(example, indent=2, ensure_ascii=False)}\n```\n"


def is_content(attribute: Attribute) -> bool:
    """Is this emitted only where content may be? On log events it keeps its structure."""
    return attribute.meaning.endswith("; content")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _keys(keys: Iterable[str]) -> str:
    return ", ".join(f"`{key}`" for key in dict.fromkeys(keys))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"reference: {PAGE.relative_to(REPO)}\n")
