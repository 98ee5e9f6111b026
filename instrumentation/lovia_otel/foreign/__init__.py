"""Compaction by code that this project did not write, one module a source.

Each module has ``WRAPPERS``: pairs of a predicate and a wrapper for :func:`lovia_otel.observe`.
None imports the framework it is for: objects are recognised by shape and by name, so that a module
loads whether or not its framework is installed.
"""

from __future__ import annotations

from typing import Final

# From the most general to the most special: what comes later is asked first.
MODULES: Final = ("shapes", "langchain", "deepagents", "openai_agents", "pydantic_ai")
