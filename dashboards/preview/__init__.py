"""A preview of the dashboards: their panels, drawn from a live Prometheus without Grafana.

It is for pictures and for a quick look. It draws what the panels ask for, with their units, colours
and words; it is no Grafana, and has none of its controls.
"""
