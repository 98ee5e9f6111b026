"""How long `import lovia` takes, beside `import openai`.

Each import runs in a fresh interpreter, the packages in turn, so that a slow moment of the machine
hits all of them; the time is taken inside the interpreter, so its own start is not in it.

    python benchmarks/imports.py [ROUNDS]
"""

from __future__ import annotations

import statistics
import subprocess
import sys

PACKAGES = ("lovia", "lovia_otel", "openai")
_CODE = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def import_seconds(package: str) -> float:
    """Return the seconds that importing `package` takes in a fresh interpreter."""
    command = [sys.executable, "-c", _CODE.format(package)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main(rounds: int) -> None:
    """Print the median of `rounds` imports per package, and the ratio to openai's."""
    for package in PACKAGES:
        import_seconds(package)  # writes the bytecode and warms the disk cache
    times: dict[str, list[float]] = {package: [] for package in PACKAGES}
    for _ in range(rounds):
        for package in PACKAGES:
            times[package].append(import_seconds(package))
    reference = statistics.median(times["openai"])
    print(f"import time, median of {rounds} rounds")
    for package in PACKAGES:
        median = statistics.median(times[package])
        print(f"  {package:<12}{median * 1000:8.1f} ms{median / reference:8.2f} x openai")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
