"""Importing the packages is cheap, and works without any extra."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.meta.source import imports, modules
from tests.paths import REPO

# Top-level modules that belong to the extras: SDKs, vendors' clients, the command line's helpers.
EXTRAS = ("openai", "anthropic", "rich", "jinja2", "cyclopts", "opentelemetry.sdk")
HEAVY = (*EXTRAS, "opentelemetry.exporter", "opentelemetry.instrumentation", "tiktoken", "sqlite3")

# Modules below these need an extra as soon as they are imported; the package above them does not.
NEED_AN_EXTRA = (
    "lovia.cli.",
    "lovia_otel._pipeline",
    "lovia_otel._console",
    "lovia_otel._counting",
    "lovia_otel._exporting",
)

# Modules that use asyncio beside anyio, each for a reason that stands in the module.
USE_ASYNCIO = {"lovia.runtime.background", "lovia.runtime.wakeup"}

_WITHOUT_EXTRAS = f"""
import importlib, importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        for extra in {EXTRAS!r}:
            if name == extra or name.startswith(extra + "."):
                raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


def run(code: str) -> str:
    """Run `code` in a fresh interpreter in the checkout, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("package", ["lovia", "lovia_otel"])
def test_importing_a_package_loads_nothing_heavy(package: str) -> None:
    """A bare import loads no SDK, no vendor's client, no tokenizer and no command line helper."""
    loaded = run(f"import sys, {package}; print(*sys.modules)").split()
    assert package in loaded
    assert [m for m in loaded for heavy in HEAVY if m == heavy or m.startswith(f"{heavy}.")] == []


def test_importing_the_instrumentation_loads_no_runtime() -> None:
    """`import lovia_otel` leaves whatever package is called lovia alone."""
    loaded = run("import sys, lovia_otel; print(*sys.modules)").split()
    assert [m for m in loaded if m == "lovia" or m.startswith("lovia.")] == []


def test_every_module_imports_without_the_extras() -> None:
    """Modules that use an extra import it where they use it, so that a bare install works."""
    names = [
        module.name
        for package in ("lovia", "lovia_otel")
        for module in modules(package)
        if not module.name.startswith(NEED_AN_EXTRA) and module.name != "lovia.__main__"
    ]
    run(f"{_WITHOUT_EXTRAS}for name in {names!r}: importlib.import_module(name)")


def test_every_public_name_is_there_at_the_first_look() -> None:
    """After a bare `import lovia`, and without any extra: a name that was never used exists."""
    for look in ("events.RunCompleted", "OpenAIChatProvider('m')", "AnthropicProvider('m')"):
        run(f"{_WITHOUT_EXTRAS}import lovia; lovia.{look}")


def test_the_command_line_says_which_extra_it_lacks() -> None:
    """Without the extra `cli` the command ends with code 2 and the line that installs it."""
    code = f"{_WITHOUT_EXTRAS}from lovia.cli import main; sys.exit(main(['demo']))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert 'pip install "lovia[cli]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_library_code_runs_on_any_event_loop() -> None:
    """Library code imports anyio, never asyncio or trio, but for a list that may only shrink."""
    found = {
        module.name
        for package in ("lovia", "lovia_otel")
        for module in modules(package)
        for i in imports(module)
        if i.target.split(".")[0] in {"asyncio", "trio"} and not i.type_only
    }
    assert found == USE_ASYNCIO
