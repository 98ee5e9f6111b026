"""`lovia compare`: the same recordings through several policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from lovia.cli.console import print_json, progress, result_console
from lovia.cli.loading import load_sessions
from lovia.cli.settings import contender, summarizer_of
from lovia.cli.tables import comparison_table
from lovia.errors import UserError
from lovia.providers.clients import clients_closed
from lovia.replay.compare import compare

if TYPE_CHECKING:
    from lovia.replay.compare import Comparison

__all__ = ["CompareRequest", "run_compare"]

_BAD_INPUT = 2
_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """What the command line asked for; see :func:`lovia.cli.app.compare`."""

    files: tuple[str, ...]
    policies: tuple[str, ...]
    window: int
    summarizer: str
    json: bool
    timing: bool


def run_compare(request: CompareRequest) -> int:
    """Compare and print; a request that overflows is a finding here, not an error."""
    if not request.policies:
        message = "No policy was named."
        raise UserError(message, hint='Write --policy default --policy "trigger_ratio=0.7".')
    make = summarizer_of(request.summarizer)
    contenders = [
        contender("" if spec == _DEFAULT else spec, window=request.window, summarizer=make)
        for spec in request.policies
    ]
    sessions, complete = load_sessions(request.files)
    if not sessions:
        return _BAD_INPUT
    with progress() as started:
        on_turn = started("comparing")

        async def run() -> Comparison:
            async with clients_closed():
                return await compare(sessions, contenders, on_turn=on_turn)

        comparison = anyio.run(run)
    if request.json:
        print_json(comparison.to_dict(timing=request.timing))
    else:
        result_console().print(comparison_table(comparison))
    return 0 if complete else _BAD_INPUT
