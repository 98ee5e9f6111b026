"""What a run and its handle share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lovia.runtime.approvals import ApprovalChannel
from lovia.runtime.channel import EventChannel
from lovia.runtime.interrupt import Interrupt
from lovia.runtime.manual import CompactionDesk
from lovia.runtime.run_context import RunContext

if TYPE_CHECKING:
    from lovia.runtime.options import RunOptions

__all__ = ["RunControl"]


class RunControl:
    """The lines between a run and whoever holds its handle.

    Attributes:
        context: The context of the run.
        channel: The way of its events.
        interrupt: Its stop button.
        approvals: Its open questions.
        desk: Requests for compaction.
    """

    def __init__(self, options: RunOptions) -> None:
        self.context: RunContext[Any] = RunContext(
            deps=options.deps,
            entries=[],
            agent=options.agent,
            session_id=options.session_id,
            run_id=options.run_id,
            budget=options.budget,
            cancel_token=options.cancel_token,
            mailbox=options.mailbox,
        )
        self.channel: EventChannel = EventChannel()
        self.interrupt: Interrupt = Interrupt(options.cancel_token)
        self.approvals: ApprovalChannel = ApprovalChannel(can_defer=options.is_saved)
        self.desk: CompactionDesk = CompactionDesk()
