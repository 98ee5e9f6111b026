"""Standing in for an object: everything is the object's own, but the methods that are replaced."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, Final

Overrides = Callable[[Any], Mapping[str, Callable[..., Any]]]

# Special methods that a stand-in answers itself, or that make or unmake the object.
_OWN: Final = frozenset(
    {
        *("__init__", "__new__", "__del__", "__init_subclass__", "__post_init__"),
        *("__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__dir__"),
        *("__repr__", "__eq__", "__ne__", "__hash__"),
        *("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__copy__"),
        *("__deepcopy__", "__class_getitem__", "__subclasshook__", "__getnewargs__"),
    }
)


def stand_in(wrapped: Any, overrides: Overrides) -> Any:
    """Return a stand-in for ``wrapped`` whose methods named by ``overrides(wrapped)`` are replaced.

    It is an instance of the same classes for ``isinstance``, has the same attributes (set and
    deleted on the object itself), equals what the object equals, and copies with it. A replacement
    is called like a bound method; ``__call__`` and its kin can be replaced too.
    """
    kind: Any = type(wrapped)
    return _class_for(kind)(wrapped, overrides)


class Proxy:
    """Base of the stand-ins; see :func:`stand_in`. ``__wrapped__`` is the object."""

    __slots__ = ("__weakref__", "_lovia_otel_make", "_lovia_otel_methods", "_lovia_otel_object")

    def __init__(self, wrapped: Any, overrides: Overrides) -> None:
        put = object.__setattr__
        put(self, "_lovia_otel_object", wrapped)
        put(self, "_lovia_otel_make", overrides)
        put(self, "_lovia_otel_methods", dict(overrides(wrapped)))

    @property
    def __wrapped__(self) -> Any:
        return _object(self)

    @property  # type: ignore[misc]  # isinstance asks here after it has asked the type
    def __class__(self) -> Any:
        return type(_object(self))

    def __getattribute__(self, name: str) -> Any:
        get = object.__getattribute__
        if name in {"__class__", "__wrapped__"} or name.startswith("_lovia_otel_"):
            return get(self, name)
        if name in _OWN:
            return get(self, name)
        replaced = get(self, "_lovia_otel_methods").get(name)
        return getattr(_object(self), name) if replaced is None else replaced

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_object(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_object(self), name)

    def __dir__(self) -> list[str]:
        return dir(_object(self))

    def __repr__(self) -> str:
        return repr(_object(self))

    def __eq__(self, other: object) -> bool:
        return bool(_object(self) == (_object(other) if is_stand_in(other) else other))

    def __hash__(self) -> int:
        return hash(_object(self))

    def __copy__(self) -> Any:
        return stand_in(copy.copy(_object(self)), object.__getattribute__(self, _MAKE))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return stand_in(copy.deepcopy(_object(self), memo), object.__getattribute__(self, _MAKE))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (stand_in, (_object(self), object.__getattribute__(self, _MAKE)))


_MAKE: Final = "_lovia_otel_make"


def is_stand_in(candidate: object) -> bool:
    """Is this a stand-in? ``isinstance`` cannot tell: it is told the object's class."""
    return issubclass(type(candidate), Proxy)


def _object(proxy: Any) -> Any:
    return object.__getattribute__(proxy, "_lovia_otel_object")


@functools.cache
def _class_for(kind: type) -> type[Proxy]:
    """Make the stand-in class for objects of ``kind``, with the special methods that these have.

    The interpreter looks special methods up on the type. The name is that of ``kind``, which some
    code uses to tell objects apart.
    """
    forwarded = {
        name: _forwarder(name, value)
        for ancestor in kind.__mro__[:-1]
        for name, value in vars(ancestor).items()
        if name.startswith("__") and name not in _OWN and isinstance(value, FunctionType)
    }
    written_in_c = "__call__" not in forwarded
    if written_in_c and any("__call__" in vars(ancestor) for ancestor in kind.__mro__):
        forwarded["__call__"] = _forwarder("__call__")
    identity = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__slots__": ()}
    return type(kind.__name__, (Proxy,), {**forwarded, **identity})


def _forwarder(name: str, method: FunctionType | None = None) -> Callable[..., Any]:
    def forward(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, name)(*args, **kwargs)

    forward.__name__ = name
    # Some ask the type's own method which parameters it has.
    return forward if method is None else functools.wraps(method)(forward)
