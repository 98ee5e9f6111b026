"""Pages in a browser without a window: pictures of them, and what is in them."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_PATIENCE: Final = 180  # seconds for one page


class NoBrowserError(Exception):
    """There is no Chromium here, or it does not do what it is told."""


def found() -> str | None:
    """Return the path of a Chromium, or ``None``."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


def take(address: str, target: Path, *, width: int, height: int, settle: int = 1_000) -> None:
    """Write a picture of a page as PNG.

    Args:
        address: The page's address, or a file's path.
        target: The file of the picture.
        width: Pixels of the window.
        height: Pixels of the window; what is below is cut off.
        settle: Milliseconds of the page's own time that its scripts get before the picture.

    Raises:
        NoBrowserError: There is no browser, or it wrote nothing.
    """
    _browse(address, f"--screenshot={target}", width=width, height=height, settle=settle)
    if not target.is_file():
        raise NoBrowserError(f"there is no picture of {address}")


def page_text(address: str, *, width: int, height: int, settle: int = 1_000) -> str:
    """Return a page as HTML, as it is after its scripts ran; arguments and errors as above."""
    return _browse(address, "--dump-dom", width=width, height=height, settle=settle)


def _browse(address: str, errand: str, *, width: int, height: int, settle: int) -> str:
    browser = found()
    if browser is None:
        raise NoBrowserError("no Chromium on the path: install the package chromium")
    with tempfile.TemporaryDirectory(prefix="lovia-chromium-") as profile:
        command = [
            *(browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
            f"--virtual-time-budget={settle}",
            errand,
            address if "://" in address else Path(address).resolve().as_uri(),
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    if done.returncode != 0:
        raise NoBrowserError(f"{browser} did not show {address}:\n{done.stderr[-2_000:]}")
    return done.stdout
