"""A real agent session in miniature: real tools, a scripted model, a window that is too small."""

from __future__ import annotations

from lovia.demo.session import DemoSession, DemoTurn
from lovia.demo.workspace import Workspace, find_workspace

__all__ = ["DemoSession", "DemoTurn", "Workspace", "find_workspace"]
