"""Build the backends and start them, to look at: `python -m tests.backends [build]`."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from tests.backends import binaries
from tests.backends.servers import NotReadyError
from tests.backends.stack import Stack
from tests.receiver import Receiver

_EXAMPLE = "lovia_context_saved_tokens_total"


def main(arguments: list[str] | None = None) -> int:
    """Build what is missing; unless that was all, run it until somebody presses Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m tests.backends", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["build", "run"], default="run")
    what = parser.parse_args(arguments).what
    for end in (signal.SIGINT, signal.SIGTERM):  # what was started ends with this, however it ends
        signal.signal(end, signal.default_int_handler)
    try:
        for module in binaries.ALL:
            module.build(_say)
        if what == "run":
            _run()
    except (binaries.BuildError, NotReadyError) as problem:
        _say(str(problem))
        return 1
    except KeyboardInterrupt:
        _say("ended")
    return 0


def _run() -> None:
    """Start all of them, say where they are, and wait."""
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="lovia-backends-")))
        events = running.enter_context(Receiver())
        stack = Stack(folder, events.url)
        for server in stack.servers():
            running.enter_context(server)
        for line in _guide(stack):
            _say(line)
        _say("Ctrl-C ends them")
        threading.Event().wait()


def _guide(stack: Stack) -> list[str]:
    """Return what there is to look at, and where."""
    prometheus, jaeger, collector = stack.prometheus, stack.jaeger, stack.collector
    return [
        f"Collector   {collector.url} takes OTLP over HTTP",
        f"Prometheus  {prometheus.url}/api/v1/query?query={_EXAMPLE}",
        f"alerts      {prometheus.url}/api/v1/alerts",
        f"Jaeger      {jaeger.url}/api/traces?service=lovia",
        f"logs        {stack.folder}/*/*.log",
        f"try         .venv/bin/lovia demo --otlp {collector.url}",
    ]


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} backends: {text}", file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
