"""What the telemetry itself costs, four kinds of it beside each other in one run.

    python benchmarks/telemetry.py               9 rounds
    python benchmarks/telemetry.py --rounds 3    fewer of them

*absent*: every scope and event of the runtime does nothing, as if there was no telemetry in it.
*none*: no SDK is installed. *sampled-out*: an SDK that drops every trace, and exports metrics and
events. *export*: an SDK that sends everything in batches, to a receiver in a process of its own.

Each kind has a process, and they are asked in turn, so that whatever else the machine does hits all
of them alike. A turn is one of a session of 10,000 entries; a run has ten model calls of 200 ms.
Processor time is that of all threads of the process, exporters included, until all spans and events
of the run are sent. Times are of this machine and this moment; the ratios are what to read.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
from collections import defaultdict
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "peers" / "telemetry_run.py"
KINDS = ("absent", "none", "sampled-out", "export")


class Receiver(BaseHTTPRequestHandler):
    """Takes OTLP over HTTP and keeps nothing."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def receive() -> None:
    """Receive until the parent closes standard input; the port is printed first."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


class Process:
    """A process that answers each line with one."""

    def __init__(self, *arguments: str) -> None:
        pipe = subprocess.PIPE
        command = [sys.executable, *arguments]
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("both are pipes")
        self._asks, self._answers = self._process.stdin, self._process.stdout

    def read(self) -> str:
        """Return the next line that it prints."""
        return self._answers.readline()

    def ask(self, what: str) -> dict[str, float]:
        """Have one thing measured."""
        self._asks.write(f"{what}\n")
        self._asks.flush()
        measured: dict[str, float] = json.loads(self.read())
        return measured

    def close(self) -> None:
        """Let it end."""
        self._asks.close()
        self._process.wait()


Measured = dict[str, dict[str, float]]


def measure(rounds: int) -> Measured:
    """Return the median of each measure by kind."""
    took: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with ExitStack() as stack:
        receiver = Process(__file__, "--receive")
        stack.callback(receiver.close)
        endpoint = f"http://127.0.0.1:{int(receiver.read())}"
        processes = {kind: Process(str(PROGRAM), kind, endpoint) for kind in KINDS}
        for process in processes.values():
            stack.callback(process.close)
        for number in range(rounds + 1):
            for what in ("turns", "calls", "slow"):
                for kind, process in processes.items():
                    for unit, value in process.ask(what).items():
                        if number:  # the first round warms up
                            took[kind][f"{what} {unit}"].append(value)
    return {
        kind: {what: statistics.median(values) for what, values in measures.items()}
        for kind, measures in took.items()
    }


def show(medians: Measured) -> None:
    """Print the medians, and what each kind adds to the first."""
    first = medians[KINDS[0]]
    print(
        f"{'':12}{'a turn of 10,000 entries':>28}{'a model call alone':>20}"
        f"{'a run of 200 ms calls':>26}{'its processor time':>20}"
    )
    for kind, row in medians.items():
        turn, run = row["turns us"], row["slow wall_ms"]
        added = (row["slow work_ms"] - first["slow work_ms"]) / first["slow wall_ms"]
        print(
            f"{kind:12}{turn:>16,.0f} µs{turn / first['turns us'] - 1:>+8.1%}"
            f"{row['calls us']:>17.1f} µs{run:>15,.0f} ms"
            f"{run / first['slow wall_ms'] - 1:>+7.1%}{row['slow work_ms']:>11,.0f} ms"
            f"{added:>+7.1%}"
        )
    bare = medians["none"]["calls us"] - first["calls us"]
    print(
        f"without an SDK a model call costs {bare:.1f} µs, {bare / first['turns us']:.2%} of a turn"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--receive", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.receive:
        receive()
    else:
        show(measure(options.rounds))


if __name__ == "__main__":
    main()
