"""Asking an archive to keep something, when nothing may depend on whether it can."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lovia.errors import BudgetExceeded, RunCancelled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lovia.context.policy import ArchiveRef

__all__ = ["try_to_keep"]

_log = logging.getLogger("lovia.context")


async def try_to_keep(what: str, save: Callable[[], Awaitable[ArchiveRef]]) -> ArchiveRef | None:
    """Have an archive keep something.

    Args:
        what: What it is, for the log.
        save: Asks the archive; archives are written by anybody and may fail in any way.

    Returns:
        Where it is kept, or ``None`` when it is not, which is logged.

    Raises:
        RunCancelled: A stop was requested.
        BudgetExceeded: The budget is spent.
    """
    try:
        ref = await save()
        uri: object = ref.uri
        if isinstance(uri, str):
            return ref
        why = f"its address is a {type(uri).__name__}"
    except (RunCancelled, BudgetExceeded):
        raise
    except Exception as error:  # noqa: BLE001 - see above
        why = f"{type(error).__name__}: {error}"
    _log.warning("%s could not be archived (%s).", what, why)
    return None
