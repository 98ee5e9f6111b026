"""Asking a Prometheus over its HTTP API."""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any, Final

_TIMEOUT: Final = 30  # seconds


class QueryFailed(Exception):
    """Prometheus gave no answer to a query; the message says why."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series of an answer.

    Attributes:
        labels: Its labels.
        points: Pairs of Unix time in seconds and value, oldest first; values are finite.
    """

    labels: dict[str, str]
    points: tuple[tuple[float, float], ...]

    @property
    def last(self) -> float:
        """The newest value."""
        return self.points[-1][1]


@dataclass(frozen=True, slots=True)
class Span:
    """A time range, in Unix seconds, and the distance of its points."""

    start: float
    end: float
    step: float


class Prometheus:
    """A Prometheus server.

    Args:
        url: Where it is, as `http://127.0.0.1:9090`.
    """

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def at(self, expr: str, moment: float) -> list[Series]:
        """Return the values of an expression at one moment.

        Raises:
            QueryFailed: There is no such server, or it refuses the expression.
        """
        return self._ask("query", query=expr, time=moment)

    def over(self, expr: str, span: Span) -> list[Series]:
        """Return the values of an expression over a time range; raises as :meth:`at` does."""
        return self._ask("query_range", query=expr, start=span.start, end=span.end, step=span.step)

    def _ask(self, what: str, **question: str | float) -> list[Series]:
        address = f"{self._url}/api/v1/{what}?{urllib.parse.urlencode(question)}"
        try:
            with urllib.request.urlopen(address, timeout=_TIMEOUT) as answer:  # noqa: S310 - the user's own server
                body = json.load(answer)
        except urllib.error.HTTPError as error:
            raise QueryFailed(f"{_reason(error)}: {question['query']}") from error
        except (OSError, ValueError) as error:
            raise QueryFailed(f"no Prometheus answers at {self._url} ({error})") from error
        return [series for item in body["data"]["result"] if (series := _series(item)).points]


def _series(item: dict[str, Any]) -> Series:
    pairs = item.get("values") or [item["value"]]
    points = ((float(at), float(value)) for at, value in pairs)
    return Series(
        item["metric"], tuple((at, value) for at, value in points if math.isfinite(value))
    )


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["error"])
    except (ValueError, KeyError):
        return str(error)
