"""Environments with the real packages that `observe` is for, made when a test needs them.

Each holds one framework at one version, with what the tests themselves need, and lies in a cache
folder outside the checkout, so that it is made once. `lovia_otel` comes from the checkout.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.paths import REPO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SWITCH = "LOVIA_UPSTREAM"

_TOOLS = ("pytest", "anyio", "opentelemetry-sdk", "opentelemetry-exporter-otlp-json-file")
_UNREACHABLE = re.compile(
    r"dns error|name resolution|failed to fetch|error sending request|connection|timed out|offline",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Environment:
    """One framework at one version: the folder with its checks, and what has to be installed."""

    framework: str
    requirements: tuple[str, ...]
    tools: tuple[str, ...] = ()
    """Further packages, in the versions that the checkout itself is tested with."""
    installed: bool = False
    """Install `lovia_otel`, for its entry points, and keep the checkout's `lovia` out of reach: the
    framework is a package of that name."""

    def __str__(self) -> str:
        return re.sub(r"(\[.*\])?==", "-", self.requirements[0])

    @property
    def folder(self) -> Path:
        """Where the environment lies: it is named after all that makes it what it is."""
        project = REPO / "instrumentation" / "pyproject.toml"
        made_of = [project.read_text(encoding="utf-8")] if self.installed else []
        content = "\n".join([*self._wanted(), *made_of, sys.version, sys.prefix])
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(base) / "lovia-tests" / f"{self}-{digest}"

    @property
    def python(self) -> Path:
        """The interpreter of the environment."""
        return self.folder / "bin" / "python"

    def run(self, *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run Python in the environment, with the checkout's `lovia_otel` and tests in reach."""
        paths = [self._tests_alone()] if self.installed else [REPO, REPO / "instrumentation"]
        surroundings = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "PYTHONDONTWRITEBYTECODE": "1",
            # The frameworks' own telemetry stays at home, whatever is set on this machine.
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "LANGSMITH_TRACING": "false",
            "LANGCHAIN_TRACING_V2": "false",
        }
        return subprocess.run(
            [str(self.python), *map(str, arguments)],
            cwd=cwd,
            env=surroundings,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def make(self, say: Callable[[str], None]) -> None:
        """Make the environment unless it is there. Progress goes to `say`.

        Raises:
            IndexUnreachableError: the packages cannot be fetched from here.
            RuntimeError: they can, and do not install.
        """
        with _locked(self.folder.with_name(f"{self.folder.name}.lock")):
            ready = self.folder / ".ready"
            if ready.exists():
                return
            say(f"making an environment with {', '.join(self.requirements)}")
            shutil.rmtree(self.folder, ignore_errors=True)
            make_environment(self.folder, *self._wanted())
            if self.installed:
                editable = ("--editable", str(REPO / "instrumentation"))
                install(self.folder, "--no-deps", "--no-build-isolation", *editable)
            ready.touch()

    def _tests_alone(self) -> Path:
        """Return a folder in which the checkout's tests are importable, and nothing else of it."""
        root = self.folder / "checkout"
        root.mkdir(exist_ok=True)
        tests = root / "tests"
        if not tests.is_symlink() or tests.readlink() != REPO / "tests":
            tests.unlink(missing_ok=True)
            tests.symlink_to(REPO / "tests")
        return root

    def _wanted(self) -> list[str]:
        given = {re.split(r"[\[=]", requirement)[0] for requirement in self.requirements}
        tools = [name for name in (*_TOOLS, *self.tools) if name not in given]
        return [*self.requirements, *(f"{name}=={_pinned(name)}" for name in tools)]


class IndexUnreachableError(Exception):
    """There is no package index in reach, or it does not answer."""


_LANGCHAIN = ("langchain==1.5.2", "langchain-core==1.8.3", "langgraph==1.2.24")

_AUTO = ("opentelemetry-distro", "opentelemetry-instrumentation", "hatchling", "editables")

# What runs our runtime beside other instrumentations.
_SDKS = ("openai==3.57.0", "anthropic==2.14.0")
_RUNTIME = ("pydantic", "tiktoken", "opentelemetry-instrumentation")
_GENAI = "opentelemetry-instrumentation-genai"
_INFERENCE = "openinference-instrumentation"
_HTTP = "opentelemetry-instrumentation-httpx==0.66b2"
_LANGCHAIN_SDKS = (*_LANGCHAIN, *_SDKS, "langchain-openai==1.7.4")

# The first requirement names the environment. Of each framework, the current version is first.
ENVIRONMENTS = (
    Environment("langchain", _LANGCHAIN),
    Environment(
        "langchain", ("langchain==1.0.8", "langgraph==1.0.10", "langgraph-prebuilt==1.0.8")
    ),
    Environment("deepagents", ("deepagents==0.7.32", *_LANGCHAIN)),
    Environment("deepagents", ("deepagents==0.6.12", *_LANGCHAIN)),
    Environment("pydantic_ai", ("pydantic-ai-slim[openai,anthropic]==2.68.0",)),
    Environment("pydantic_ai", ("pydantic-ai-slim[openai,anthropic]==1.107.10",)),
    Environment(
        "pydantic_ai", ("pydantic-ai-harness==0.62.0", "pydantic-ai-slim[openai,anthropic]==2.62.0")
    ),
    Environment("openai_agents", ("openai-agents==0.24.0", "openai==3.57.0")),
    Environment("openai_agents", ("openai-agents==0.10.0", "openai==2.21.0")),
    Environment("lovia_09", ("lovia==0.9.119",), _AUTO, installed=True),
    Environment("lovia_09", ("lovia==0.9.0",), _AUTO, installed=True),
    Environment(
        "instrumentations",
        (f"{_GENAI}-openai==1.3b0", f"{_GENAI}-anthropic==1.3b0", _HTTP, *_SDKS),
        _RUNTIME,
    ),
    Environment(
        "instrumentations",
        (
            *(f"{_GENAI}-openai==1.2b0", f"{_GENAI}-anthropic==1.2b0", _HTTP),
            *("opentelemetry-util-genai==1.2b0", _SDKS[0], "anthropic==1.17.0"),
        ),
        _RUNTIME,
    ),
    Environment(
        "instrumentations",
        (
            *("opentelemetry-instrumentation-openai-v2==2.4b0", _HTTP),
            *("opentelemetry-util-genai==0.4b0", "openai==2.54.0", _SDKS[1]),
        ),
        _RUNTIME,
    ),
    Environment(
        "instrumentations",
        (
            "opentelemetry-instrumentation-openai==0.62.4",
            *("opentelemetry-instrumentation-anthropic==0.62.4", _HTTP, *_SDKS),
        ),
        _RUNTIME,
    ),
    Environment(
        "instrumentations",
        (f"{_INFERENCE}-openai==0.1.66", f"{_INFERENCE}-anthropic==3.1.0", _HTTP, *_SDKS),
        _RUNTIME,
    ),
    Environment(
        "instrumentations_langchain",
        (f"{_GENAI}-langchain==1.3b0", f"{_GENAI}-openai==1.3b0", *_LANGCHAIN_SDKS),
        _RUNTIME,
    ),
    Environment(
        "instrumentations_langchain",
        (
            "opentelemetry-instrumentation-langchain==0.62.4",
            *("opentelemetry-instrumentation-openai==0.62.4", *_LANGCHAIN_SDKS),
        ),
        _RUNTIME,
    ),
    Environment(
        "instrumentations_langchain",
        (f"{_INFERENCE}-langchain==0.1.80", f"{_INFERENCE}-openai==0.1.66", *_LANGCHAIN_SDKS),
        _RUNTIME,
    ),
)


def _pinned(name: str) -> str:
    """Return the version of a package that the checkout itself is tested with."""
    text = (REPO / "requirements" / "dev.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(name)}==(\S+)", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"requirements/dev.txt does not pin {name}")
    return found[1]


def make_environment(folder: Path, *requirements: str) -> None:
    """Make an environment that holds some packages; raises as :meth:`Environment.make` does."""
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    install(folder, *requirements)


def install(folder: Path, *arguments: str) -> None:
    """Install into an environment; raises as :meth:`Environment.make` does."""
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside if beside.exists() else "uv")
    _run([uv, "pip", "install", "--python", str(folder / "bin" / "python"), *arguments])


def _run(command: list[str]) -> None:
    surroundings = {"UV_SYSTEM_CERTS": "1", "UV_DEFAULT_INDEX": os.environ.get("PIP_INDEX_URL", "")}
    done = subprocess.run(
        command,
        env={**{name: value for name, value in surroundings.items() if value}, **os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return
    problem = done.stderr.strip()
    if _UNREACHABLE.search(problem):
        raise IndexUnreachableError(problem.splitlines()[-1])
    raise RuntimeError(f"{' '.join(command)}\n{problem}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time make an environment; the others wait and find it made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
