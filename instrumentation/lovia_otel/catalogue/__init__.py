"""What every name of the telemetry means: attributes, spans and log events, each described once.

Metrics are described where they are declared, in :mod:`lovia_otel.metrics`. Nothing needs this at
run time: ``docs/telemetry-reference.md`` is made of it, and tests hold what is emitted against it.
"""

from __future__ import annotations

from lovia_otel.catalogue.attributes import ATTRIBUTES
from lovia_otel.catalogue.entries import Attribute, LogEvent, Span, Type
from lovia_otel.catalogue.events import EVENTS
from lovia_otel.catalogue.spans import SPANS

__all__ = ["ATTRIBUTES", "EVENTS", "SPANS", "Attribute", "LogEvent", "Span", "Type"]
