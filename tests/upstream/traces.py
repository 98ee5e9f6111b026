"""Makes the traces in docs/traces: one session of each source, and what `lovia view` shows of it.

python -m tests.upstream.traces

Each source runs in its environment (see environments.py), lovia in the checkout's own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.paths import REPO
from tests.upstream.environments import ENVIRONMENTS

FOLDER = REPO / "docs" / "traces"

# The package of the environment that a session needs; lovia runs where this does.
SOURCES = {
    "lovia": None,
    "lovia_09": "lovia==0.9.",
    "langchain": "langchain==1.5.",
    "pydantic_ai": "pydantic-ai-harness==",
    "openai_agents": "openai-agents==0.24.",
}
_TITLES = {
    "lovia": "lovia",
    "lovia_09": "lovia 0.9, `observe(policy)`",
    "langchain": "LangChain, two middleware",
    "pydantic_ai": "Pydantic AI, a history processor and the harness's tiers",
    "openai_agents": "OpenAI Agents SDK, a filter of input and a compacting session",
}

_OPENING = """# Traces of one session from each source

The same spans, whoever compacts. Each tree is what `lovia view` prints of the file beside it, which
is OTLP JSON as the file exporter wrote it. The models are scripted.
`python -m tests.upstream.traces` makes them anew.
"""


def view(recording: Path) -> str:
    """Return what `lovia view` prints of a recording, at a fixed width."""
    command = [sys.executable, "-m", "lovia", "view", recording.name]
    done = subprocess.run(
        command,
        cwd=recording.parent,
        env={"PATH": "", "COLUMNS": "100", "PYTHONPATH": f"{REPO}:{REPO / 'instrumentation'}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


def record(source: str, package: str | None, target: Path) -> None:
    """Run the session of a source, and put what it exported into `target`."""
    target.unlink(missing_ok=True)
    arguments = ("-m", f"tests.upstream.sessions.{source}", str(target))
    if package is None:
        subprocess.run([sys.executable, *arguments], cwd=REPO, check=True)
        return
    environment = next(e for e in ENVIRONMENTS if e.requirements[0].startswith(package))
    environment.make(print)
    with tempfile.TemporaryDirectory() as folder:
        done = environment.run(*arguments, cwd=Path(folder))
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)


def page() -> str:
    """Return the page that shows the trees of all recordings one after the other."""
    parts = [_OPENING]
    for source, title in _TITLES.items():
        recording = FOLDER / f"{source}.jsonl"
        link = f"[{recording.name}]({recording.name})"
        parts.append(f"\n## {title}\n\n{link}\n\n```text\n{view(recording)}```\n")
    return "".join(parts)


def main() -> None:
    """Make all recordings, and the page."""
    FOLDER.mkdir(exist_ok=True)
    for source, package in SOURCES.items():
        print(f"traces: {source}", flush=True)  # noqa: T201 - it takes a while
        record(source, package, FOLDER / f"{source}.jsonl")
    (FOLDER / "index.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
