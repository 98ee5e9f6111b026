"""One session of the lovia 0.9 line: results are compacted, and the talk is summarised."""

from __future__ import annotations

import sys

from lovia import Runner
from lovia_otel import configure, observe
from tests.upstream.lovia_09.agents import handing_over, policy

with configure(file=sys.argv[1], service_name="lovia-0.9-app"):
    Runner.run_sync(handing_over(observe(policy())), "go")
