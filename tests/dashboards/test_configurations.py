"""Provisioning, Collector and stack fit together, and speak of what exists.

What only the programs themselves can say is tried where they can be had (tests/backends); these
files are also for Grafana, Tempo, Loki and Docker, which are checked here by their form alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dashboards.expressions import dashboards
from lovia_otel import names
from tests.dashboards.promql_labels import Reader
from tests.paths import REPO

if TYPE_CHECKING:
    from tests.dashboards.emitted import Emitted

FOLDER = REPO / "dashboards"
COLLECTORS = sorted((FOLDER / "collector").glob("*.yml"))


def load(path: str) -> dict[str, Any]:
    """Return a YAML file of the dashboards' folder."""
    content: dict[str, Any] = yaml.safe_load((FOLDER / path).read_text(encoding="utf-8"))
    return content


SERVICES = load("stack/compose.yml")["services"]
SOURCES = load("provisioning/datasources/lovia.yml")["datasources"]


@pytest.mark.parametrize("path", COLLECTORS, ids=lambda path: path.stem)
def test_a_collector_uses_what_it_has(path: Any) -> None:
    """Each component in a pipeline is configured, and each configured one is in a pipeline."""
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    pipelines = config["service"]["pipelines"]
    assert set(pipelines) == {"traces", "metrics", "logs"}
    for kind in ("receivers", "processors", "exporters"):
        used = {name for pipeline in pipelines.values() for name in pipeline[kind]}
        assert used == set(config[kind])
    for pipeline in pipelines.values():
        assert pipeline["processors"][0] == "memory_limiter"
        assert pipeline["processors"][-1] == "batch"


def test_sampling_keeps_what_is_worth_a_look(emitted: Emitted) -> None:
    """Policies name attributes and values that spans have, and keep all that went wrong."""
    policies = load("collector/gateway.yml")["processors"]["tail_sampling"]["policies"]
    there = emitted.attributes()
    kept: dict[str, set[str]] = {}
    for policy in policies:
        settings = policy[policy["type"]]
        if policy["type"] == "string_attribute":
            kept[settings["key"]] = set(settings["values"])
        if "key" in settings:
            assert settings["key"] in there
    passes, stages = set(names.PASS_OUTCOMES), set(names.STAGE_OUTCOMES)
    well = {names.COMPACTED, names.APPLIED, names.NOOP, names.SKIPPED}
    assert kept[names.COMPACTION_OUTCOME] == (passes | stages) - well
    assert kept[names.COMPACTION_TRIGGER] == {names.TRIGGER_OVERFLOW}
    well = {names.COMPLETED, names.SUSPENDED}
    assert kept[names.RUN_OUTCOME] == set(names.RUN_OUTCOMES) - well
    (slow,) = [p["ottl_condition"]["span"] for p in policies if p["type"] == "ottl_condition"]
    assert re.match(rf'span\.name == "{names.SPAN_PASS}" and ', slow[0])
    assert {"status_code", "probabilistic"} <= {policy["type"] for policy in policies}


def test_images_are_pinned_and_ports_are_this_machine_s() -> None:
    """Each image has a full version, and no port is open to the network."""
    for service in SERVICES.values():
        assert re.search(r":v?\d+\.\d+\.\d+$", service["image"])
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


def test_what_is_mounted_exists() -> None:
    """Each file and folder that the stack mounts is there, and each volume is declared."""
    volumes = load("stack/compose.yml")["volumes"]
    for service in SERVICES.values():
        for mount in service.get("volumes", ()):
            source = mount.split(":")[0]
            if source.startswith("."):
                assert (FOLDER / "stack" / source).exists()
            else:
                assert source in volumes


def test_addresses_are_services_of_the_stack() -> None:
    """Each host that the gateway and Grafana talk to is a service, on a port that it listens on."""
    known = {
        "tempo:3200",
        "tempo:4318",
        "jaeger:16686",
        "jaeger:4318",
        "prometheus:9090",
        "loki:3100",
    }
    texts = [
        (FOLDER / "collector" / "gateway.yml").read_text(encoding="utf-8"),
        (FOLDER / "provisioning" / "datasources" / "lovia.yml").read_text(encoding="utf-8"),
    ]
    hosts = {host for text in texts for host in re.findall(r"http://([\w.]+:\d+)", text)}
    assert hosts <= known
    assert {host.split(":")[0] for host in hosts} <= set(SERVICES)


def test_every_dashboard_finds_a_source() -> None:
    """For each type of source that a dashboard lets choose there is one."""
    wanted = {
        variable["query"]
        for dashboard in dashboards()
        for variable in dashboard["templating"]["list"]
        if variable["type"] == "datasource"
    }
    assert wanted == {source["type"] for source in SOURCES} - {"loki"}


def test_sources_link_to_each_other() -> None:
    """Exemplars, traces and logs lead to sources that exist, by the labels that backends write."""
    text = yaml.safe_dump(SOURCES)
    uids = {source["uid"] for source in SOURCES}
    assert set(re.findall(r"datasourceUid: (\w+)", text)) <= uids
    metrics = next(source for source in SOURCES if source["type"] == "prometheus")["jsonData"]
    assert [link["name"] for link in metrics["exemplarTraceIdDestinations"]] == ["trace_id"]


def test_traces_lead_to_metrics_that_exist(emitted: Emitted) -> None:
    """The query that goes from a trace to metrics asks for what is emitted."""
    tempo = next(source for source in SOURCES if source["type"] == "tempo")
    for query in tempo["jsonData"]["tracesToMetrics"]["queries"]:
        Reader(emitted, {}).labels(query["query"].replace("$$__tags", 'job="app"'))


def test_grafana_reads_the_dashboards_that_are_built() -> None:
    """The folder that provisioning reads is the one that the stack mounts the dashboards at."""
    (provider,) = load("provisioning/dashboards/lovia.yml")["providers"]
    assert f"../grafana:{provider['options']['path']}:ro" in SERVICES["grafana"]["volumes"]


def test_prometheus_takes_otlp_rules_and_exemplars() -> None:
    """It is started with what rules, dashboards and links to traces need."""
    flags = SERVICES["prometheus"]["command"]
    assert {"--web.enable-otlp-receiver", "--enable-feature=exemplar-storage"} <= set(flags)
    config = load("stack/prometheus.yml")
    assert config["otlp"]["translation_strategy"] == "UnderscoreEscapingWithSuffixes"
    rules = [mount for mount in SERVICES["prometheus"]["volumes"] if "/rules/" in mount]
    assert len(rules) == len(list((FOLDER / "rules").glob("*.yml")))
