"""The 0.9 line of lovia, which records nothing itself: runs, passes, model calls, storage.

It is instrumented through what it documents: the tracer that ``Runner.stream`` takes, the events
that a run's handle yields, and the methods of policies, providers, stores and checkpointers.
"""

from __future__ import annotations
