"""Result stores and checkpointers of the 0.9 line."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from lovia_otel import logs
from lovia_otel.foreign.lovia09 import run as runs
from lovia_otel.foreign.passes import current_pass
from lovia_otel.foreign.twins import quietly
from lovia_otel.spans import ArchiveScope, CheckpointScope, archive_scope, checkpoint_scope

if TYPE_CHECKING:
    from collections.abc import Callable

# What that line's own stores are, so that theirs and ours have the same names in telemetry.
_KINDS: Final = ("Memory", "File", "SQLite")


def observed_put(put: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``put()`` method whose calls by a stage are archive writes."""

    @functools.wraps(put)
    async def call(store: Any, key: str, content: str, *args: Any, **kwargs: Any) -> Any:
        if current_pass() is None:
            return await put(store, key, content, *args, **kwargs)
        with archive_scope(store=_name(store), entries=1) as scope:
            result = await put(store, key, content, *args, **kwargs)
            _written(scope, key, content)
            return result

    return call


def observed_append(append: Callable[..., Any]) -> Callable[..., Any]:
    """Return an ``append()`` method of a checkpointer whose calls by a run are saves."""

    @functools.wraps(append)
    async def call(checkpointer: Any, run_id: str, entries: Any, head: Any, **kwargs: Any) -> Any:
        if runs.current() is None:
            return await append(checkpointer, run_id, entries, head, **kwargs)
        with checkpoint_scope(operation="save", store=_name(checkpointer)) as scope:
            result = await append(checkpointer, run_id, entries, head, **kwargs)
            _saved(scope, entries, head)
            return result

    return call


def observed_load(load: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``load()`` method of a checkpointer whose calls by a run are loads."""

    @functools.wraps(load)
    async def call(checkpointer: Any, run_id: str, **kwargs: Any) -> Any:
        if runs.current() is None:
            return await load(checkpointer, run_id, **kwargs)
        with checkpoint_scope(operation="load", store=_name(checkpointer)) as scope:
            snapshot = await load(checkpointer, run_id, **kwargs)
            if snapshot is not None:
                _loaded(scope, snapshot)
            return snapshot

    return call


@quietly(None)
def _written(scope: ArchiveScope, key: str, content: str) -> None:
    scope.settle(ref=key, size=len(content.encode("utf-8", "surrogatepass")))


@quietly(None)
def _saved(scope: CheckpointScope, entries: Any, head: Any) -> None:
    status, count = str(head.status), len(entries)
    scope.settle(entries=count, status=status)
    run = runs.current()
    actor = run.actor() if run is not None else logs.Actor()
    logs.checkpoint_saved(store=scope.store, entries=count, status=status, actor=actor)


@quietly(None)
def _loaded(scope: CheckpointScope, snapshot: Any) -> None:
    scope.settle(entries=len(snapshot.entries), status=str(snapshot.status))


def _name(store: Any) -> str:
    name = type(store).__name__
    return next((kind.lower() for kind in _KINDS if kind in name), name)
