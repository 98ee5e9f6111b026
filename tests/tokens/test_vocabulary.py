"""Loading vocabularies: once, off the loop, and not for ever."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import anyio
import pytest
import tiktoken

from lovia.tokens import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator


class Network:
    """Stands for the network that tiktoken fetches from: slow until released, or broken."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.error: BaseException | None = None
        self.asked = 0
        self._real = tiktoken.get_encoding

    def get_encoding(self, name: str) -> tiktoken.Encoding:
        """Wait, then fail or hand over the real vocabulary."""
        self.asked += 1
        assert self.released.wait(20)
        if self.error is not None:
            raise self.error
        return self._real(name)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Iterator[Network]:
    """Put a slow network in front of tiktoken, in a process that loaded nothing yet."""
    network = Network()
    monkeypatch.setattr(vocabulary, "_loads", {})
    monkeypatch.setattr(tiktoken, "get_encoding", network.get_encoding)
    yield network
    network.released.set()


@pytest.mark.anyio
async def test_a_slow_network_costs_one_time_limit(network: Network) -> None:
    """A load is waited for as long as it may take, and what comes later is there later."""
    started = time.monotonic()
    assert await vocabulary.load("cl100k_base", timeout=0.05) is None
    assert time.monotonic() - started < 5
    network.released.set()
    assert await vocabulary.load("cl100k_base", timeout=10) is not None
    assert network.asked == 1


@pytest.mark.anyio
async def test_waiting_can_be_cancelled(network: Network) -> None:
    """Cancelling the wait ends it at once; the load itself goes on."""
    with anyio.move_on_after(0.05) as scope:
        await vocabulary.load("cl100k_base", timeout=20)
    assert scope.cancelled_caught
    network.released.set()
    assert await vocabulary.load("cl100k_base", timeout=10) is not None


@pytest.mark.anyio
async def test_many_waiters_share_one_load(network: Network) -> None:
    """Ten tasks that need a vocabulary at once fetch it once."""
    found = []

    async def need() -> None:
        found.append(await vocabulary.load("cl100k_base", timeout=10))

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(need)
        await anyio.sleep(0.05)
        network.released.set()
    assert network.asked == 1
    assert len(found) == 10
    assert None not in found


@pytest.mark.anyio
@pytest.mark.parametrize("error", [OSError("unreachable"), KeyboardInterrupt("any kind")])
async def test_a_failure_is_remembered_for_a_while(
    network: Network, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What failed is not tried again at once, whatever it raised, but it is after some minutes."""
    network.released.set()
    network.error = error
    assert await vocabulary.load("cl100k_base") is None
    assert await vocabulary.load("cl100k_base") is None
    assert vocabulary.load_blocking("cl100k_base") is None
    assert vocabulary.loaded("cl100k_base") is None
    assert not vocabulary.any_loaded()
    assert network.asked == 1
    network.error = None
    monkeypatch.setattr(vocabulary, "RETRY_SECONDS", -1.0)
    assert await vocabulary.load("cl100k_base") is not None
    assert network.asked == 2
