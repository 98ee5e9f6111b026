"""Searches in TraceQL, Tempo's language: conditions on spans, and what is shown of them."""

from __future__ import annotations

from typing import Final

from lovia_otel import names

#: What the dashboard's choices narrow a search to.
_SERVICE: Final = 'resource.service.name =~ "$service"'
_AGENT: Final = f'span.{names.AGENT_NAME} =~ "$agent"'


def is_operation(operation: str) -> str:
    """Return the condition that a span is of this operation."""
    return f'span.{names.OPERATION_NAME} = "{operation}"'


def is_one_of(attribute: str, *values: str) -> str:
    """Return the condition that an attribute has one of these values."""
    if len(values) == 1:
        return f'span.{attribute} = "{values[0]}"'
    return f'span.{attribute} =~ "{"|".join(values)}"'


def search(*conditions: str, show: tuple[str, ...] = (), by_agent: bool = True) -> str:
    """Return the search for spans on which all conditions hold.

    Args:
        conditions: The conditions.
        show: Attributes that are shown beside what the search looks at.
        by_agent: Narrow it to the chosen agents; only spans that name their agent can be.
    """
    chosen = [_SERVICE, _AGENT] if by_agent else [_SERVICE]
    spans = f"{{ {' && '.join([*chosen, *conditions])} }}"
    if not show:
        return spans
    return f"{spans} | select({', '.join(f'span.{name}' for name in show)})"


def rate_by(spans: str, attribute: str) -> str:
    """Return how many such spans end in a second, by an attribute."""
    return f"{spans} | rate() by (span.{attribute})"


def durations(spans: str, *shares: float) -> str:
    """Return quantiles of the time that such spans take."""
    return f"{spans} | quantile_over_time(duration, {', '.join(f'{share:g}' for share in shares)})"
