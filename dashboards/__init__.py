"""The Grafana dashboards, and the Prometheus rules beside them.

The modules build the dashboards (`python -m dashboards`); the folder `grafana` holds what they
built, to be imported or provisioned. What dashboards and rules ask Prometheus can be had as data,
read from the very files that people use.
"""

from __future__ import annotations

from dashboards.expressions import Expression, Rule, alert_rules, expressions, recording_rules

__all__ = ["Expression", "Rule", "alert_rules", "expressions", "recording_rules"]
