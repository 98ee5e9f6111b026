"""Calling somebody else's method inside a pass, whether it is async, sync, or sync and awaitable.

The method gets its arguments, and its caller the result or the exception, as if nobody watched.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lovia_otel.guard import drop

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from lovia_otel.foreign.passes import ObservedPass

Begin = Callable[[tuple[Any, ...], dict[str, Any]], "ObservedPass | None"]
Settle = Callable[["ObservedPass", Any], None]


def watched(method: Callable[..., Any], begin: Begin, settle: Settle) -> Callable[..., Any]:
    """Return a callable like ``method`` that makes one pass of each call.

    ``begin`` returns the pass for the arguments (``None``: there is none), ``settle`` hands it the
    result. Where one of them fails, the call is made all the same.
    """
    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def acall(*args: Any, **kwargs: Any) -> Any:
            observed = _begun(begin, args, kwargs)
            if observed is None:
                return await method(*args, **kwargs)
            with observed:
                result = await method(*args, **kwargs)
                _settled(settle, observed, result)
                return result

        return acall

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        observed = _begun(begin, args, kwargs)
        if observed is None:
            return method(*args, **kwargs)
        with observed:
            result = method(*args, **kwargs)
            if inspect.isawaitable(result):
                return _awaited(result, observed.pause(), settle)
            _settled(settle, observed, result)
            return result

    return call


async def _awaited(result: Awaitable[Any], observed: ObservedPass, settle: Settle) -> Any:
    """Go on with a pass whose method returned something to wait for."""
    with observed:
        value = await result
        _settled(settle, observed, value)
        return value


def _begun(begin: Begin, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ObservedPass | None:
    try:
        return begin(args, kwargs)
    except Exception:  # noqa: BLE001 - arguments of any kind
        drop("foreign.calls.begin")
        return None


def _settled(settle: Settle, observed: ObservedPass, result: Any) -> None:
    try:
        settle(observed, result)
    except Exception:  # noqa: BLE001 - results of any kind
        drop("foreign.calls.settle")
