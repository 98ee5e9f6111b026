"""Without the SDK everything works and nothing is recorded."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

from tests.paths import REPO

_BLOCKED: Final = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "opentelemetry.sdk" or name.startswith("opentelemetry.sdk."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""


def run(code: str) -> str:
    """Run `code` where the SDK cannot be imported, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _BLOCKED + code],
        cwd=REPO / "instrumentation",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_scope_and_event_works() -> None:
    """Each operation opens, settles and closes, and exceptions pass through."""
    printed = run(
        """
from lovia_otel import *
from lovia_otel import logs
with run_scope(agent="a", run_id="r", session_id=None) as run:
    run.settle(outcome="completed")
    assert run.traceparent() is None
    with turn_scope(index=1) as turn:
        turn.settle(tool_calls=1)
    sizes = ChatSizes(1, 1, 1, 0, "bytes")
    with chat_scope(provider="p", model="m", purpose="turn", agent="a", sizes=sizes) as chat:
        chat.content(input_messages=lambda: 1 / 0)
        chat.settle(input_tokens=1)
    with tool_scope(tool="t", call_id="c", agent="a") as tool:
        tool.settle(result_tokens=1)
    with pass_scope(policy="p", trigger="manual", pass_id="1") as scope:
        with stage_scope(stage="s", index=0) as stage, fold_scope(index=0) as fold:
            fold.settle(attempts=1)
            stage.settle(outcome="applied")
        scope.settle(outcome="compacted")
    with archive_scope(store="file") as archive:
        archive.settle(ref="r", size=1)
    with checkpoint_scope(operation="save", store="memory") as checkpoint:
        checkpoint.settle(size=1)
    record_handoff("a", "b")
    record_cancellation("user", "turn")
    logs.context_compacted(facts={})
try:
    with turn_scope(index=1):
        raise KeyError("k")
except KeyError:
    print("raised")
"""
    )
    assert printed == "raised\n"


def test_configuring_says_what_is_missing() -> None:
    """The error names the extra to install, and is an ImportError too."""
    printed = run(
        """
from lovia_otel import MissingSdkError, configure
try:
    configure("http://localhost:4318")
except MissingSdkError as error:
    print(isinstance(error, ImportError), error)
"""
    )
    assert printed.startswith("True ")
    assert "lovia-otel[otlp]" in printed
    assert "opentelemetry.sdk" in printed


def test_recordings_can_be_read() -> None:
    """Looking at a recording needs no SDK."""
    printed = run(
        """
import pathlib, tempfile
from lovia_otel import read_recording
file = pathlib.Path(tempfile.mkdtemp()) / "x.jsonl"
span = '{"traceId": "t", "spanId": "s", "name": "n"}'
file.write_text('{"resourceSpans": [{"scopeSpans": [{"spans": [%s]}]}]}' % span)
print([span.name for span in read_recording(file).spans])
"""
    )
    assert printed == "['n']\n"
