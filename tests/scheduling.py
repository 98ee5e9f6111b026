"""Which tests one worker runs, when several share the tests."""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

#: Files and folders whose tests share what takes seconds to make, or a server.
TOGETHER: Final = (
    "tests/backends/",
    "tests/cli/test_demo.py",
    "tests/dashboards/test_operating.py",
    "tests/meta/test_reference.py",
    "tests/otel/test_rotel.py",
    "tests/runtime/test_crashes.py",
    "tests/upstream/lovia09/test_parity.py",
)


class Together(LoadScopeScheduling):  # type: ignore[misc] # the package has no types
    """Gives the tests of such a place to one worker, and every other test to whoever is free."""

    def _split_scope(self, nodeid: str) -> str:
        return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid)
