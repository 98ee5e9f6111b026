"""A program of the 0.9 line that knows nothing of telemetry."""

from __future__ import annotations

from lovia import Runner
from tests.upstream.lovia_09.agents import handing_over

if __name__ == "__main__":
    print(f"the answer is: {Runner.run_sync(handing_over(), 'go').output}")  # noqa: T201
