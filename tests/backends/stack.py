"""The stack that operators run, on loopback: Collector, Jaeger and Prometheus, with our settings.

The files are those of `dashboards/`; ports, folders and waiting times are what differs. Prometheus
evaluates its rules every second here, and takes samples of the last hours in any order, so that a
test can tell it of a past.
"""

from __future__ import annotations

import json
import urllib.parse
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import yaml

from dashboards.expressions import RULES
from tests.backends.binaries import COLLECTOR, JAEGER, PROMETHEUS
from tests.backends.servers import HOST, Server, free_port, get, request
from tests.paths import REPO

if TYPE_CHECKING:
    from pathlib import Path

CONFIGS: Final = REPO / "tests" / "backends" / "configs"
DASHBOARDS: Final = REPO / "dashboards"
PROTOBUF: Final = "application/x-protobuf"


@dataclass
class Prometheus:
    """Prometheus with our rules.

    Attributes:
        folder: Where its data, configuration and log are.
        port: Where it listens.
        rules: The files of its rules.
    """

    folder: Path
    port: int = field(default_factory=free_port)
    rules: tuple[Path, ...] = (RULES / "recording.yml", RULES / "alerts.yml")

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{HOST}:{self.port}"

    @property
    def otlp(self) -> str:
        """The base address of its OTLP receiver."""
        return f"{self.url}/api/v1/otlp"

    def server(self) -> Server:
        """Write its configuration, and return its process."""
        self.folder.mkdir(parents=True, exist_ok=True)
        config = _stack("prometheus.yml")
        config["global"]["evaluation_interval"] = "1s"
        config["rule_files"] = [str(file) for file in self.rules]
        config["storage"]["tsdb"]["out_of_order_time_window"] = "3h"
        file = self.folder / "prometheus.yml"
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        flags = [
            flag
            for flag in _stack("compose.yml")["services"]["prometheus"]["command"]
            if flag.startswith(("--web.enable", "--enable-feature"))
        ]
        command = [
            str(PROMETHEUS.program("prometheus")),
            f"--config.file={file}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address={HOST}:{self.port}",
            *flags,
        ]
        return Server(command, self.folder / "prometheus.log", f"{self.url}/-/ready")

    def query(self, expr: str, at: float | None = None) -> list[dict[str, Any]]:
        """Return an expression's result: one dictionary with `metric` and `value` for each series.

        Args:
            expr: The expression.
            at: The time in seconds since 1970; without it, now.

        Raises:
            OSError: Prometheus refuses the expression.
        """
        asked = {"query": expr} if at is None else {"query": expr, "time": f"{at:.3f}"}
        body = urllib.parse.urlencode(asked).encode()
        result: list[dict[str, Any]] = self._data("query", body)["result"]
        return result

    def values(self, expr: str, at: float | None = None) -> list[float]:
        """Return the numbers of an expression's result."""
        return [float(series["value"][1]) for series in self.query(expr, at)]

    def alerts(self) -> list[dict[str, Any]]:
        """Return the alerts that are pending or fire."""
        found: list[dict[str, Any]] = self._data("alerts")["alerts"]
        return found

    def rule_groups(self) -> list[dict[str, Any]]:
        """Return the groups of rules, with how each rule fares."""
        found: list[dict[str, Any]] = self._data("rules")["groups"]
        return found

    def exemplars(self, expr: str, start: float, end: float) -> list[dict[str, Any]]:
        """Return the exemplars of an expression's series between two times in seconds."""
        asked = {"query": expr, "start": f"{start:.3f}", "end": f"{end:.3f}"}
        found = self._data(f"query_exemplars?{urllib.parse.urlencode(asked)}")
        return [exemplar for series in found for exemplar in series["exemplars"]]

    def take(self, body: bytes) -> None:
        """Hand over metrics, as an OTLP request in protobuf."""
        request(f"{self.otlp}/v1/metrics", body, Content_Type=PROTOBUF)

    def _data(self, path: str, body: bytes | None = None) -> Any:
        return json.loads(request(f"{self.url}/api/v1/{path}", body))["data"]


@dataclass
class Jaeger:
    """Jaeger with its store in memory."""

    folder: Path
    query_port: int = field(default_factory=free_port)
    otlp_port: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        """The address of its HTTP API."""
        return f"http://{HOST}:{self.query_port}"

    @property
    def otlp(self) -> str:
        """The base address of its OTLP receiver."""
        return f"http://{HOST}:{self.otlp_port}"

    def server(self) -> Server:
        """Return its process."""
        self.folder.mkdir(parents=True, exist_ok=True)
        ports = {
            "JAEGER_QUERY_PORT": str(self.query_port),
            "JAEGER_GRPC_PORT": str(free_port()),
            "JAEGER_OTLP_PORT": str(self.otlp_port),
        }
        command = [str(JAEGER.program("jaeger")), f"--config={CONFIGS / 'jaeger.yml'}"]
        log = self.folder / "jaeger.log"
        return Server(command, log, f"{self.url}/api/services", ports)

    def traces(self, service: str, **wanted: Any) -> list[dict[str, Any]]:
        """Return the traces of a service, as its HTTP API gives them."""
        asked = urllib.parse.urlencode({"service": service, "limit": 1000, **wanted})
        found: list[dict[str, Any]] = json.loads(get(f"{self.url}/api/traces?{asked}"))["data"]
        return found


@dataclass
class Collector:
    """The Collector with the gateway's configuration."""

    folder: Path
    traces: str
    metrics: str
    logs: str
    port: int = field(default_factory=free_port)
    metrics_port: int = field(default_factory=free_port)
    wait: str = "1s"

    @property
    def url(self) -> str:
        """The base address of its OTLP receiver."""
        return f"http://{HOST}:{self.port}"

    def server(self) -> Server:
        """Return its process."""
        self.folder.mkdir(parents=True, exist_ok=True)
        surroundings = {
            "TRACES_ENDPOINT": self.traces,
            "METRICS_ENDPOINT": self.metrics,
            "LOGS_ENDPOINT": self.logs,
            "COLLECTOR_HTTP_PORT": str(self.port),
            "COLLECTOR_GRPC_PORT": str(free_port()),
            "COLLECTOR_METRICS_PORT": str(self.metrics_port),
            "COLLECTOR_DECISION_WAIT": self.wait,
        }
        command = [
            str(COLLECTOR.program("collector")),
            f"--config={DASHBOARDS / 'collector' / 'gateway.yml'}",
            f"--config={CONFIGS / 'collector.yml'}",
        ]
        log = self.folder / "collector.log"
        return Server(command, log, f"{self.url}/v1/traces", surroundings)

    def own_metrics(self) -> str:
        """Return what it tells of itself, in Prometheus's text format."""
        return get(f"http://{HOST}:{self.metrics_port}/metrics").decode()


@dataclass
class Stack:
    """All of them, each connected with the next: Collector, then Jaeger and Prometheus.

    Attributes:
        logs: The base address of the store for log events, which speaks OTLP.
    """

    folder: Path
    logs: str
    prometheus: Prometheus = field(init=False)
    jaeger: Jaeger = field(init=False)
    collector: Collector = field(init=False)

    def __post_init__(self) -> None:
        self.prometheus = Prometheus(self.folder / "prometheus")
        self.jaeger = Jaeger(self.folder / "jaeger")
        self.collector = Collector(
            self.folder / "collector", self.jaeger.otlp, self.prometheus.otlp, self.logs
        )

    def servers(self) -> list[Server]:
        """Return the processes, in the order in which they start."""
        return [part.server() for part in (self.prometheus, self.jaeger, self.collector)]


def _stack(file: str) -> Any:
    return yaml.safe_load((DASHBOARDS / "stack" / file).read_text(encoding="utf-8"))
