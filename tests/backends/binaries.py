"""The backends as programs: built once from their pinned Go modules, into a cache folder.

Each module under `modules/` pins one backend with everything that it is made of. What it is made of
names the folder in the cache, so that another version is another folder, and a folder that is there
is whole: it gets its name when it is finished.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODULES: Final = Path(__file__).parent / "modules"
_FLAGS: Final = ("-trimpath", "-ldflags=-s -w")  # no paths, and no symbols, which take long to link
_EVERY: Final = 15  # seconds between two lines of progress


class BuildError(Exception):
    """A backend cannot be built here."""


@dataclass(frozen=True)
class Module:
    """A Go module that gives programs.

    Attributes:
        name: Its folder under `modules/`.
        packages: What is built, by import path; the last word of each is the program's name.
        tags: Build tags, with commas between.
    """

    name: str
    packages: tuple[str, ...]
    tags: str = ""

    @property
    def source(self) -> Path:
        """Where its pins are."""
        return MODULES / self.name

    @property
    def folder(self) -> Path:
        """Where its programs are, or will be."""
        digest = hashlib.sha256()
        for file in sorted(self.source.glob("*")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
        digest.update(repr((self.packages, self.tags, _FLAGS)).encode())
        digest.update(f"{sys.platform} {platform.machine()}".encode())
        return cache() / f"{self.name}-{digest.hexdigest()[:12]}"

    def program(self, name: str) -> Path:
        """Return where a program of it is, or will be."""
        return self.folder / name

    def build(self, say: Callable[[str], None]) -> None:
        """Build its programs unless they are there. Progress goes to `say`.

        Raises:
            BuildError: There is no Go, or it finds fault; its words are in the message.
        """
        with _locked(self.folder.with_suffix(".lock")):
            if self.folder.is_dir():
                return
            if shutil.which("go") is None:
                raise BuildError(f"{self.name} is built with Go, which is not there: see go.dev/dl")
            started = time.monotonic()
            unfinished = self.folder.with_suffix(".new")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            say(f"{self.name}: fetching what it is made of")
            count = len(self._go("list", "-deps", *self.packages).splitlines())
            self._compile(unfinished, count, say)
            unfinished.rename(self.folder)
            say(f"{self.name}: built in {time.monotonic() - started:.0f} s")

    def _compile(self, target: Path, count: int, say: Callable[[str], None]) -> None:
        """Run the compiler, and say from time to time how far it is."""
        said, done, words = time.monotonic(), 0, []
        with subprocess.Popen(
            self._command("build", "-v", *_FLAGS, "-o", f"{target}{os.sep}", *self.packages),
            cwd=self.source,
            env=_surroundings(),
            stderr=subprocess.PIPE,
            text=True,
        ) as compiler:
            assert compiler.stderr is not None
            for line in compiler.stderr:  # one for each package that is begun, and complaints
                done += 1
                words.append(line)
                if time.monotonic() - said > _EVERY:
                    say(f"{self.name}: {done} of {count} packages")
                    said = time.monotonic()
        if compiler.returncode != 0:
            raise BuildError(f"{self.name} does not build:\n{''.join(words[-20:])}")

    def _go(self, *arguments: str) -> str:
        done = subprocess.run(
            self._command(*arguments),
            cwd=self.source,
            env=_surroundings(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise BuildError(f"{self.name} cannot be fetched:\n{done.stderr}")
        return done.stdout

    def _command(self, verb: str, *arguments: str) -> list[str]:
        return ["go", verb, f"-tags={self.tags}", *arguments]


_PROMETHEUS: Final = "github.com/prometheus/prometheus/cmd"

COLLECTOR: Final = Module("collector", (".",))
JAEGER: Final = Module("jaeger", ("github.com/jaegertracing/jaeger/cmd/jaeger",))
# Nothing is scraped, so there is nothing to discover: that leaves the clouds' own packages out.
PROMETHEUS: Final = Module(
    "prometheus", (f"{_PROMETHEUS}/prometheus", f"{_PROMETHEUS}/promtool"), "remove_all_sd"
)
#: In the order in which they are built: the quick ones first.
ALL: Final = (COLLECTOR, PROMETHEUS, JAEGER)


def missing() -> list[str]:
    """Return the names of the backends that are not built."""
    return [module.name for module in ALL if not module.folder.is_dir()]


def cache() -> Path:
    """Return the folder that keeps what was built, outside the checkout."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "lovia-tests" / "backends"


def _surroundings() -> dict[str, str]:
    """Return the environment for Go, in which it changes no pin and asks nothing of Git."""
    return {**os.environ, "GOWORK": "off", "GOFLAGS": "-mod=readonly -buildvcs=false"}


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time build; the others wait and find it built."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
