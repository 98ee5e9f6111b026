"""Notices library code that blocks the event loop."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import blockbuster.blockbuster
import pytest
from blockbuster import BlockingError, blockbuster_ctx

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def blocking_calls_fail() -> Iterator[list[str]]:
    """Let a call that blocks fail when lovia or lovia_otel makes it on a running asyncio loop.

    Blocking are file, database and socket operations and `time.sleep`. The call raises; as a
    library may well catch what a storage raises, its name is also put into the list that this
    yields, which a test run looks at after each test.
    """
    seen: list[str] = []

    class Recorded(BlockingError):
        def __init__(self, call: str) -> None:
            super().__init__(call)
            seen.append(call)

    with pytest.MonkeyPatch.context() as patch, blockbuster_ctx(["lovia", "lovia_otel"]) as watch:
        # Where log records go, and whether that blocks, is the application's choice.
        for function in watch.functions.values():
            function.can_block_in("logging/__init__.py", {"handle"})
        patch.setattr(blockbuster.blockbuster, "BlockingError", Recorded)
        yield seen
