"""Where tests find the checkout and the recorded transcripts beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

REPO: Final = Path(__file__).resolve().parent.parent
TRANSCRIPTS: Final = REPO.parent / "shared" / "transcripts"

needs_transcripts: Final = pytest.mark.skipif(
    not TRANSCRIPTS.is_dir(),
    reason="the recorded transcripts are not there: ../shared/transcripts, beside the checkout",
)
