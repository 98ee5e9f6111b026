"""Phoenix, a trace viewer that package indexes have: installed into a cache folder, and run."""

from __future__ import annotations

import json
import os
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.backends.servers import HOST, Server, free_port
from tests.upstream.environments import make_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSION: Final = "20.26.1"
_PROJECT: Final = "default"
_PATIENCE: Final = 60  # seconds


@contextmanager
def running(folder: Path, say: Callable[[str], None]) -> Iterator[str]:
    """Run Phoenix, installed first where it is not; yields its address, which takes OTLP too.

    Args:
        folder: Where its data and its log are.
        say: Is told what takes long.
    """
    home = _installed(say)
    port = free_port()
    address = f"http://{HOST}:{port}"
    surroundings = {
        "PHOENIX_HOST": HOST,
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    server = Server(
        [str(home / "bin" / "python"), "-m", "phoenix.server.main", "serve"],
        folder / "phoenix.log",
        address,
        surroundings,
    )
    with server:
        yield address


def trace_page(address: str, span_name: str) -> str:
    """Return the page of the newest trace with such a span, with that span chosen.

    Phoenix takes spans in a little after it accepted them, so they are waited for.

    Raises:
        LookupError: There is no such span.
    """
    project = _get(f"{address}/v1/projects/{_PROJECT}")["data"]["id"]
    newest = max(_spans(address, span_name), key=lambda span: str(span["start_time"]))
    trace, span = newest["context"]["trace_id"], newest["id"]
    return f"{address}/projects/{project}/traces/{trace}?selectedSpanNodeId={span}"


def _spans(address: str, name: str) -> list[dict[str, Any]]:
    deadline = time.monotonic() + _PATIENCE
    while True:
        spans = _get(f"{address}/v1/projects/{_PROJECT}/spans?limit=1000")["data"]
        found = [span for span in spans if span["name"] == name]
        complete = any(span["name"].startswith("invoke_agent") for span in spans)  # it ends last
        if found and complete:
            return found
        if time.monotonic() > deadline:
            raise LookupError(f"Phoenix has {len(spans)} spans, none of them is {name}")
        time.sleep(1)


def _get(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return json.load(answer)


def _installed(say: Callable[[str], None]) -> Path:
    """Return the environment that holds Phoenix, made where it is not there yet."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lovia-tests"
    home = base / f"phoenix-{VERSION}"
    if home.is_dir():
        return home
    say(f"installing Phoenix {VERSION}")
    base.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=base, prefix="phoenix-") as unfinished:
        made = Path(unfinished) / "environment"
        make_environment(made, f"arize-phoenix=={VERSION}")
        made.rename(home)
    return home
