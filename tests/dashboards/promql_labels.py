"""What an expression in PromQL needs and gives: metrics, labels and values, by its syntax tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import promql_parser as promql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.dashboards.emitted import Emitted

_NOTHING: Final[frozenset[str]] = frozenset()


class UnknownError(AssertionError):
    """An expression asks for something that does not exist."""


class Reader:
    """Reads expressions against what was emitted, and what rules record of it.

    Args:
        emitted: What real runs emit.
        recorded: The labels of the series that rules record, by their names.
    """

    def __init__(self, emitted: Emitted, recorded: Mapping[str, frozenset[str]]) -> None:
        self._emitted = emitted
        self._recorded = recorded

    def labels(self, text: str) -> frozenset[str]:
        """Return the labels of an expression's result.

        Raises:
            UnknownError: It names a metric, a label or a value that does not exist.
        """
        return self._labels(promql.parse(text))

    def _labels(self, expr: promql.Expr) -> frozenset[str]:  # noqa: PLR0911 - one a kind of node
        match expr:
            case promql.VectorSelector():
                return self._selected(expr)
            case promql.MatrixSelector():
                return self._selected(expr.vector_selector)
            case promql.AggregateExpr():
                return self._aggregated(expr)
            case promql.BinaryExpr():
                return self._combined(expr)
            case promql.Call():
                return self._called(expr)
            case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
                return self._labels(expr.expr)
            case promql.NumberLiteral() | promql.StringLiteral():
                return _NOTHING
            case _:
                raise UnknownError(f"no rule for {type(expr).__name__}")

    def _selected(self, selector: promql.VectorSelector) -> frozenset[str]:
        name = selector.name
        if name is None:
            raise UnknownError(f"{selector} names no metric")
        if name in self._recorded:
            labels, values = self._recorded[name], {}
        elif name in self._emitted.series:
            labels, values = self._emitted.labels(name), self._emitted.series[name]
        else:
            raise UnknownError(f"nothing emits {name}")
        for matcher in selector.matchers.matchers:
            if matcher.name not in labels:
                raise UnknownError(f"{name} has no label {matcher.name}")
            if matcher.name in values and not _matches(matcher, values[matcher.name]):
                raise UnknownError(f"{name} has no {matcher}")
        return labels

    def _aggregated(self, expr: promql.AggregateExpr) -> frozenset[str]:
        inner = self._labels(expr.expr)
        if expr.modifier is None:
            return _NOTHING
        if expr.modifier.type != promql.AggModifierType.By:
            raise UnknownError(f"{expr} sums without labels, which other backends have more of")
        return self._checked(expr.modifier.labels, inner, expr)

    def _combined(self, expr: promql.BinaryExpr) -> frozenset[str]:
        left, right = self._labels(expr.lhs), self._labels(expr.rhs)
        matching = expr.modifier.matching if expr.modifier else None
        if matching is not None:
            self._checked(matching.labels, left & right, expr)
        if isinstance(expr.lhs, promql.NumberLiteral):
            return right
        return left

    def _called(self, expr: promql.Call) -> frozenset[str]:
        arguments = [self._labels(argument) for argument in expr.args]
        match expr.func.name:
            case "histogram_quantile":
                if "le" not in arguments[1]:
                    raise UnknownError(f"{expr} has no buckets to look at")
                return arguments[1] - {"le"}
            case "label_replace":
                return arguments[0] | {expr.args[1].val}
            case _:
                return frozenset().union(*arguments)

    @staticmethod
    def _checked(wanted: list[str], there: frozenset[str], expr: promql.Expr) -> frozenset[str]:
        missing = set(wanted) - there
        if missing:
            raise UnknownError(f"no label {', '.join(sorted(missing))} in {expr}")
        return frozenset(wanted)


def _matches(matcher: promql.Matcher, values: set[str]) -> bool:
    """Say whether at least one value is what a matcher asks for."""
    if matcher.op == promql.MatchOp.Equal:
        return matcher.value in values
    if matcher.op == promql.MatchOp.Re:
        # Each alternative by itself: a misspelled one would otherwise hide behind the others.
        alternatives = [matcher.value] if "(" in matcher.value else matcher.value.split("|")
        return all(any(re.fullmatch(one, value) for value in values) for one in alternatives)
    return True
