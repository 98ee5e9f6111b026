"""The agent runtime: who speaks next."""

from __future__ import annotations

from lovia.runtime.agent import Agent
from lovia.runtime.handle import RunHandle
from lovia.runtime.handoff import Handoff
from lovia.runtime.result import RunResult
from lovia.runtime.run_context import RunContext
from lovia.runtime.runner import Runner

__all__ = ["Agent", "Handoff", "RunContext", "RunHandle", "RunResult", "Runner"]
