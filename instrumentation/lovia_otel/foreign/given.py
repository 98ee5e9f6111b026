"""What a callable on messages is given, where its arguments say which framework calls it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Given:
    """The messages, and what else the arguments tell of the run.

    ``per_call`` is that of :class:`~lovia_otel.foreign.passes.PassAbout`.
    """

    messages: Sequence[Any]
    agent: str | None = None
    session_id: str | None = None
    model: str | None = None
    provider: str | None = None
    per_call: bool = False


Reader = Callable[[tuple[Any, ...], Mapping[str, Any]], "Given | None"]
