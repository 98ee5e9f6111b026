"""The agent runtime: who speaks next."""

from __future__ import annotations

from lovia.runtime.agent import Agent
from lovia.runtime.approvals import ApprovalChannel
from lovia.runtime.as_tool import agent_as_tool
from lovia.runtime.checkpoint import CheckpointOptions
from lovia.runtime.handle import RunHandle
from lovia.runtime.handoff import Handoff
from lovia.runtime.idle import compact_session
from lovia.runtime.output import OutputRepairStrategy
from lovia.runtime.plugins import Plugin, PluginInstance
from lovia.runtime.result import RunResult
from lovia.runtime.run_context import RunContext
from lovia.runtime.runner import Runner
from lovia.runtime.steering import Mailbox

__all__ = [
    "Agent",
    "ApprovalChannel",
    "CheckpointOptions",
    "Handoff",
    "Mailbox",
    "OutputRepairStrategy",
    "Plugin",
    "PluginInstance",
    "RunContext",
    "RunHandle",
    "RunResult",
    "Runner",
    "agent_as_tool",
    "compact_session",
]
