"""Tools: what a model can ask for, and how a function becomes one."""

from __future__ import annotations

from lovia.tools.decorator import tool
from lovia.tools.definition import (
    Tool,
    ToolInvoker,
    ToolPolicy,
    ToolResultRenderer,
    parse_arguments,
)

__all__ = [
    "Tool",
    "ToolInvoker",
    "ToolPolicy",
    "ToolResultRenderer",
    "parse_arguments",
    "tool",
]
