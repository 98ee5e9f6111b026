"""What it means that a panel has nothing to show."""

from __future__ import annotations

from typing import Final

NO_CALLS: Final = "No model call in this time"
NO_WINDOW: Final = "No model call with a known window in this time"
NO_PASSES: Final = "No compaction in this time"
NO_SUMMARIES: Final = "No summary in this time"
NO_PRICES: Final = "No model call with a known price in this time"
NO_ARCHIVING: Final = "Nothing was archived in this time"
NO_RUNS: Final = "No run ended in this time"
NO_TOOLS: Final = "No tool ran in this time"
NO_CHECKPOINTS: Final = "No checkpoint was saved in this time"
NO_TRACES: Final = "No such trace in this time"
