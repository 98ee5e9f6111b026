"""What holds for every property test."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", autouse=True)
def _no_pile_of_warnings() -> Iterator[None]:
    """Keep warnings about provoked failures out of pytest's hands.

    It holds every record of a test to its end, with the tracebacks and all that hangs on them; one
    test here is thousands of conversations.
    """
    logger = logging.getLogger("lovia")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(level)
