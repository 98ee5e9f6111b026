"""Loading tiktoken vocabularies without ever holding up an event loop.

A vocabulary is a file of megabytes that tiktoken fetches from the network the first time, with no
time limit of its own. Each load therefore runs in a daemon thread that nobody has to wait for; what
failed is remembered for a while, so that an unreachable network costs one time limit and not one
for each model call.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio.to_thread

if TYPE_CHECKING:
    from tiktoken import Encoding

__all__ = [
    "LOAD_SECONDS",
    "RETRY_SECONDS",
    "any_loaded",
    "encoding_name",
    "load",
    "load_blocking",
    "loaded",
]

#: How long a load is waited for, in seconds. It goes on in the background when that is over.
LOAD_SECONDS: Final = 10.0

#: How long a failed load is remembered, in seconds.
RETRY_SECONDS: Final = 300.0


@dataclass
class _Load:
    """One attempt to load one vocabulary."""

    name: str
    future: Future[Encoding] = field(default_factory=Future)
    failed_at: float | None = None

    def run(self) -> None:
        """Load, in whichever thread this is called."""
        import tiktoken

        try:
            self.future.set_result(tiktoken.get_encoding(self.name))
        except BaseException as error:  # noqa: BLE001 - reported by whoever looks at the future
            self.failed_at = time.monotonic()
            self.future.set_exception(error)

    @property
    def spent(self) -> bool:
        """Whether it failed so long ago that another attempt is due."""
        return self.failed_at is not None and time.monotonic() - self.failed_at > RETRY_SECONDS


_loads: Final[dict[str, _Load]] = {}
_lock: Final = threading.Lock()


def loaded(name: str) -> Encoding | None:
    """Return a vocabulary that is there already; never loads, never waits."""
    attempt = _loads.get(name)
    if attempt is None or not attempt.future.done() or attempt.failed_at is not None:
        return None
    return attempt.future.result()


def any_loaded() -> bool:
    """Tell whether there is any vocabulary at all."""
    return any(loaded(name) is not None for name in _loads)


def load_blocking(name: str, *, timeout: float = LOAD_SECONDS) -> Encoding | None:
    """Load a vocabulary and wait for it; for code that is not on an event loop.

    Args:
        name: The encoding's name.
        timeout: Seconds to wait at most.

    Returns:
        The vocabulary, or ``None`` when it cannot be had, or could not :data:`RETRY_SECONDS` ago.
    """
    with _lock:
        attempt = _loads.get(name)
        if attempt is None or attempt.spent:
            attempt = _loads[name] = _Load(name)
            threading.Thread(target=attempt.run, name=f"load {name}", daemon=True).start()
    wait([attempt.future], timeout)
    return loaded(name)


async def load(name: str, *, timeout: float = LOAD_SECONDS) -> Encoding | None:  # noqa: ASYNC109 - the wait is a thread's
    """Load a vocabulary in a worker thread; otherwise as :func:`load_blocking`."""
    attempt = _loads.get(name)
    if attempt is not None and attempt.future.done() and not attempt.spent:
        return loaded(name)
    return await anyio.to_thread.run_sync(
        lambda: load_blocking(name, timeout=timeout), abandon_on_cancel=True
    )


def encoding_name(model: str) -> str | None:
    """Return the name of the encoding that a model uses, or ``None`` when tiktoken knows none.

    Imports tiktoken, and looks for its plug-ins when the name is none of its own.

    Args:
        model: An encoding's or a model's name; a vendor's prefix (``openai:``) is ignored.
    """
    import tiktoken

    for name in (model, model.partition(":")[2], model.rpartition("/")[2]):
        if name in _ENCODINGS:
            return name
        try:
            return tiktoken.encoding_name_for_model(name)
        except KeyError:
            continue
    return model if model in tiktoken.list_encoding_names() else None


_ENCODINGS: Final = frozenset({"cl100k_base", "o200k_base", "o200k_harmony"})  # those in use
