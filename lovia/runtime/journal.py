"""Saving a run: what was added since the last save, and the head."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import anyio
from pydantic_core import to_jsonable_python

from lovia.runtime.carrying import carried_through
from lovia.runtime.endings import Ending
from lovia.runtime.policy_memory import revision_of
from lovia.runtime.spans import actor
from lovia.stores import CallLog, LogMark, RunHead
from lovia.transcript.digest import PrefixChain
from lovia_otel import checkpoint_scope, logs

if TYPE_CHECKING:
    from lovia.runtime.state import RunState
    from lovia.stores import Checkpointer, RunSnapshot
    from lovia.transcript.entries import ToolResultEntry

__all__ = ["Journal"]


class Journal:
    """Writes one run to its checkpointer.

    A save hands over the entries that are new since the last one and a head; nothing that was
    written is copied, counted or written again. Saves wait for one another, and once begun they are
    carried through.

    Args:
        store: The checkpointer.
        run_id: The run.
        saved: What the store has of the run already, or ``None``.
    """

    def __init__(self, store: Checkpointer, run_id: str, saved: RunSnapshot | None = None) -> None:
        self._store = store
        self._run_id = run_id
        self._chain = PrefixChain(saved.entries if saved is not None else ())
        self._written = len(self._chain)
        self._sequence = saved.log.sequence if saved is not None and saved.log is not None else 0
        # Where the store has no log of calls.
        self._begun: set[int] = set() if saved is None else set(saved.progress.begun)
        self._lock = anyio.Lock()

    async def save(self, run: RunState, ending: Ending | None = None) -> None:
        """Save the run as it is now.

        Args:
            run: The run.
            ending: How it ended; ``None`` while it is going.

        Raises:
            CheckpointConflict: Somebody else has saved the run since.
            Exception: What the store raises; then nothing was written, as far as is known.
        """
        await carried_through(partial(self._save, run, ending))

    async def begin(self, run: RunState, position: int) -> None:
        """Note that a call is about to run, so that it is never run twice.

        A stop that arrives meanwhile takes the note back: the call does not run then.
        """
        store = self._store
        try:
            if isinstance(store, CallLog):
                await carried_through(partial(store.begin, self._run_id, position))
            else:
                self._begun.add(position)
                await self.save(run)
        except Exception:
            raise  # nothing was noted, or somebody else's note is there
        except BaseException:
            self._begun.discard(position)
            if isinstance(store, CallLog):
                with anyio.CancelScope(shield=True):
                    await carried_through(partial(store.withdraw, self._run_id, position))
            raise

    async def keep(self, position: int, result: ToolResultEntry) -> None:
        """Keep the result of a call that cannot enter the transcript yet.

        A store without a log of calls has no place for it; what it would have said is that the
        call was interrupted.
        """
        if isinstance(self._store, CallLog):
            await carried_through(partial(self._store.finish, self._run_id, position, result))

    async def delete(self) -> None:
        """Forget the run."""
        await carried_through(partial(self._store.delete, self._run_id))

    async def _save(self, run: RunState, ending: Ending | None) -> None:
        async with self._lock:
            await self._save_alone(run, ending)

    async def _save_alone(self, run: RunState, ending: Ending | None) -> None:
        tail = run.entries[run.own_start + self._written :]
        self._chain.truncate(self._written)  # what a failed save had added
        self._chain.extend(tail)
        log = LogMark(self._sequence + 1, len(self._chain), self._chain.value().hex())
        head = self._head(run, log, ending)
        status = head.outcome or head.status
        store = str(getattr(self._store, "name", type(self._store).__name__))
        with checkpoint_scope(operation="save", store=store, sequence=log.sequence) as scope:
            size = await self._store.append(self._run_id, tail, head)
            scope.settle(size=size, entries=len(tail), status=status)
        self._written, self._sequence = log.entries, log.sequence
        logs.checkpoint_saved(
            store=store,
            sequence=log.sequence,
            size=size,
            entries=len(tail),
            status=status,
            actor=actor(run.ctx),
        )

    def _head(self, run: RunState, log: LogMark, ending: Ending | None) -> RunHead:
        ctx, pending = run.ctx, run.handoff.pending
        run.policy_revision = run.policy_revision or revision_of(run.policy_state)
        ending = ending or Ending("running")
        progress = run.progress()
        open_since = log.entries if progress.reply_at is None else progress.reply_at
        self._begun = {position for position in self._begun if position >= open_since}
        return RunHead(
            agent_name=run.active.agent.name,
            usage=ctx.usage.clone(),
            turns=run.answered_turns,
            status=ending.status,
            output=to_jsonable_python(ending.output, fallback=str),
            error=ending.error,
            last_input_tokens=run.last_input_tokens,
            context_state=run.policy_state,
            updated_at=time.time(),
            pending_handoff=pending.target.name if pending is not None else None,
            started_at=run.started_at,
            outcome=ending.outcome,
            context_revision=run.policy_revision,
            log=log,
            progress=replace(progress, begun=tuple(sorted(self._begun))),
            session=run.session,
        )
