"""The vendors' SDK clients: loaded when first needed, one for each event loop and endpoint.

A client owns connections, which belong to the event loop that opened them. So each loop has its own
clients, and all providers that talk to one endpoint with one key share theirs: a provider may be
made anew for every run, and its connections are still warm.
"""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from anyio.lowlevel import RunVar

from lovia.errors import UserError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable
    from types import ModuleType

__all__ = ["clients_closed", "close_clients", "load_sdk", "shared_client"]

_GRACE: Final = 5.0  # seconds that closing gets
_log = logging.getLogger("lovia.providers")

_clients: Final[RunVar[dict[Hashable, Any]]] = RunVar("lovia_sdk_clients")


def load_sdk(name: str) -> ModuleType:
    """Import a vendor's SDK (it reads files: call this in a worker thread).

    Raises:
        UserError: It is not installed; the hint names the extra.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        message = f"The package {name!r} is not installed."
        raise UserError(message, hint=f'Install the extra: pip install "lovia[{name}]"') from error


async def shared_client(key: Hashable, make: Callable[[], Any]) -> Any:
    """Return the running event loop's client for a key, made in a worker thread if need be."""
    clients = _clients.get(None)
    if clients is None:
        clients = {}
        _clients.set(clients)
    if key not in clients:
        client = await anyio.to_thread.run_sync(make)
        clients.setdefault(key, client)
    return clients[key]


async def close_clients(key: Hashable = None) -> None:
    """Close the connections that providers have opened on the running event loop.

    Providers go on working and open new ones. Call it before an event loop ends, so that no
    connection is left for the garbage collector.

    Args:
        key: Close those of one endpoint; ``None`` closes all.
    """
    clients = _clients.get(None) or {}
    for one in [key] if key is not None else list(clients):
        client = clients.pop(one, None)
        if client is not None:
            await client.close()


@asynccontextmanager
async def clients_closed() -> AsyncIterator[None]:
    """Close all connections at the end of the block: for an event loop that ends with it.

    However the block ends, closing takes little time and changes nothing about that.
    """
    try:
        yield
    finally:
        with anyio.move_on_after(_GRACE, shield=True):
            try:
                await close_clients()
            except Exception as error:  # noqa: BLE001 - an SDK's; what was done stands
                _log.warning("A connection could not be closed: %s", error)
