"""Backends that run: each a process on loopback, on a free port, with its log in a file."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HOST: Final = "127.0.0.1"
_PATIENCE: Final = 60.0  # seconds; a machine with much to do is no failure
_PAUSE: Final = 0.05  # seconds


class NotReadyError(Exception):
    """A backend did not start; the end of its log is in the message."""


@dataclass
class Server:
    """A backend's process.

    Attributes:
        command: The program and its arguments.
        log: The file for what it prints; a process that starts anew writes after the old one.
        ready: An address that answers when it is ready.
        environment: Variables for it, beside those of this process.
    """

    command: list[str]
    log: Path
    ready: str
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it is ready.

        Raises:
            NotReadyError: It ended, or was not ready within a minute.
        """
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.environment},
            )
        try:
            self._wait(self._process)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """End it in good order: what it holds, it writes."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """End it at once, whatever it holds."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not answers(self.ready):
            if process.poll() is not None:
                raise NotReadyError(self._complaint(f"ended with {process.returncode}"))
            if time.monotonic() > deadline:
                raise NotReadyError(self._complaint("is not ready"))
            time.sleep(_PAUSE)

    def _complaint(self, what: str) -> str:
        lines = self.log.read_text("utf-8", "replace").splitlines()
        return "\n".join([f"{self.command[0]} {what}; {self.log} ends with:", *lines[-20:]])


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def answers(url: str) -> bool:
    """Say whether somebody answers at an address, be it that there is nothing there."""
    try:
        get(url)
    except urllib.error.HTTPError as error:
        return error.code < 500
    except (OSError, urllib.error.URLError):
        return False
    return True


def get(url: str) -> bytes:
    """Return what an address on loopback gives.

    Raises:
        OSError: It gives nothing.
    """
    return request(url)


def request(url: str, body: bytes | None = None, **headers: str) -> bytes:
    """Ask an address on loopback, with a body for POST; names of headers have underscores.

    Raises:
        OSError: It cannot be reached, or refuses.
    """
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    asked = urllib.request.Request(url, body, named)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        content: Any = answer.read()
    return bytes(content)
