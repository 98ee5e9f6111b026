"""`opentelemetry-instrument python app.py` traces a program that does not know of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from lovia_otel import read_recording

APP = Path(__file__).with_name("app.py")
EXPORTERS = {
    f"OTEL_{signal}_EXPORTER": "otlp_json_file" for signal in ("TRACES", "METRICS", "LOGS")
}


def test_an_unchanged_program_is_traced(tmp_path: Path) -> None:
    """Spans, metrics and events of a run come out of a program that imports no telemetry."""
    command = [str(Path(sys.executable).with_name("opentelemetry-instrument")), sys.executable]
    done = subprocess.run(
        [*command, str(APP)],
        env={**os.environ, **EXPORTERS, "OTEL_SERVICE_NAME": "demo"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    lines = done.stdout.splitlines()
    assert "the answer is: end" in lines
    recorded = tmp_path / "trace.jsonl"
    recorded.write_text("\n".join(line for line in lines if line.startswith("{")))
    recording = read_recording(recorded)
    (run,) = (span for span in recording.roots if span.name == "invoke_agent a")
    assert run.resource["service.name"] == "demo"
    assert len(recording.named("compact_context")) == 2
    assert recording.metric("lovia.compaction.duration")
    assert "lovia.context.compacted" in {event.name for event in recording.events}
