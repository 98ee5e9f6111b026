"""Searches for traces ask only for what spans have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from dashboards.expressions import dashboards, panels
from lovia_otel import names
from tests.dashboards import traceql
from tests.dashboards.traceql import TraceQLError

if TYPE_CHECKING:
    from tests.dashboards.emitted import Emitted

#: Values that a search may look for although the small fleet makes no such span.
_VOCABULARY = {
    *names.PASS_OUTCOMES,
    *names.STAGE_OUTCOMES,
    *names.RUN_OUTCOMES,
    *names.TRIGGERS,
    *names.INFERENCE_PURPOSES,
}


def _targets(kind: str) -> list[Any]:
    return [
        pytest.param(target, id=panel["title"])
        for dashboard in dashboards()
        for panel in panels(dashboard)
        for target in panel["targets"]
        if panel["datasource"]["type"] == kind
    ]


@pytest.mark.parametrize("target", _targets("tempo"))
def test_a_search_in_tempo_asks_for_what_exists(target: dict[str, Any], emitted: Emitted) -> None:
    """It is in the language, and its attributes and values are those of spans."""
    query = traceql.parse(target["query"])
    there = emitted.attributes()
    for condition in query.conditions:
        if condition.name == "name":
            assert condition.value in emitted.spans
        elif condition.name.startswith("span."):
            attribute = condition.name.removeprefix("span.")
            assert attribute in there
            assert _comparable(condition, there[attribute])
    for shown in query.shown:
        assert shown.removeprefix("span.") in there


def _comparable(condition: traceql.Condition, values: list[Any]) -> bool:
    """Say whether an attribute with these values can be what a condition asks for."""
    wanted = condition.value
    if isinstance(wanted, str):
        if wanted.startswith("$"):
            return all(isinstance(value, str) for value in values)
        alternatives = wanted.split("|") if condition.sign == "=~" else [wanted]
        return set(alternatives) <= {*values, *_VOCABULARY}
    if isinstance(wanted, bool):
        return all(isinstance(value, bool) for value in values)
    return all(isinstance(value, int | float) for value in values)


@pytest.mark.parametrize("target", _targets("jaeger"))
def test_a_search_in_jaeger_asks_for_what_exists(target: dict[str, Any], emitted: Emitted) -> None:
    """Its operation is a span's name, and its tags are attributes with values as Jaeger has."""
    operation = target.get("operation")
    assert operation is None or operation in emitted.spans
    there = emitted.attributes()
    for tag in target.get("tags", "").split():
        name, _, value = tag.partition("=")
        if tag == "error=true":  # Jaeger's own
            continue
        assert name in there
        assert value in {*map(_as_tag, there[name]), *_VOCABULARY, "true"}
    assert re.fullmatch(r"|\$\{slow\}", target.get("minDuration", ""))


def _as_tag(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("{ }", "word"),
        ('{ gen_ai.agent.name = "a" }', "neither span nor resource"),
        ('{ span.a = "b" ', "the end"),
        ('{ span.a == "b" }', "="),
        ("{ duration > 5 }", "no duration"),
        ("{ status = broken }", "no status"),
        ('{ span.a = "b" } | sum()', "select or rate"),
        ('{ span.a = "b" } | select(a)', "neither"),
        ('{ span.a = "b" } ; drop', "not TraceQL"),
    ],
)
def test_what_is_not_in_the_language_is_found(query: str, complaint: str) -> None:
    """The grammar refuses what Tempo would."""
    with pytest.raises(TraceQLError, match=complaint):
        traceql.parse(query)
