"""Names are defined once, well formed, and nowhere else."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter

import pytest

from lovia_otel import names
from lovia_otel.metrics import METRICS
from tests.meta.source import Module, modules
from tests.paths import REPO

_PREFIXES = ("gen_ai.", "lovia.")
_NAMES_MODULE = "lovia_otel.names"

# Texts outside names.py that begin like a telemetry name and are none, with the reason. The list
# may only shrink: a test below fails when an entry is no longer needed.
ALLOWED: dict[str, str] = {}


def _literals(module: Module) -> list[str]:
    """Return the string constants of a module, pieces of f-strings included, docstrings not."""
    docstrings = {
        id(node.value)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]


def _all_modules() -> list[Module]:
    return [module for package in ("lovia", "lovia_otel") for module in modules(package)]


def _namespaces() -> tuple[str, ...]:
    """Return the beginnings that names.py uses: `gen_ai.`, `lovia.context.` and so on."""
    defined = [v for v in vars(names).values() if isinstance(v, str) and v.startswith("lovia.")]
    return ("gen_ai.", *sorted({".".join(value.split(".")[:2]) + "." for value in defined}))


def _looks_like_telemetry(text: str) -> bool:
    module_names = {module.name for module in _all_modules()}
    return text.startswith(_namespaces()) and text not in module_names


@pytest.mark.parametrize(
    "module", [module for module in _all_modules() if module.name != _NAMES_MODULE], ids=str
)
def test_no_name_is_written_or_pieced_together_elsewhere(module: Module) -> None:
    """Outside names.py no string begins like a telemetry name, not even a part of an f-string."""
    found = [text for text in _literals(module) if _looks_like_telemetry(text)]
    assert [text for text in found if text not in ALLOWED] == []


def test_the_allowlist_only_shrinks() -> None:
    """Every allowed text is still somewhere in the code."""
    written = {text for module in _all_modules() for text in _literals(module)}
    assert [text for text in ALLOWED if text not in written] == []


def test_each_dotted_name_is_defined_once() -> None:
    """No name is written twice in names.py: a second meaning refers to the first constant."""
    (module,) = (module for module in modules("lovia_otel") if module.name == _NAMES_MODULE)
    written = Counter(text for text in _literals(module) if text.startswith(_PREFIXES))
    assert [text for text, count in written.items() if count > 1] == []


def test_names_follow_the_naming_rules() -> None:
    """Every dotted name is lower case words joined by dots and underscores."""
    for constant, value in vars(names).items():
        if isinstance(value, str) and value.startswith(_PREFIXES):
            assert re.fullmatch(r"[a-z]+(?:[._][a-z]+)+", value), constant


def test_attributes_under_gen_ai_are_conventional() -> None:
    """What the conventions of this version lack is never put under their prefix."""
    ours = ("compaction", "summary", "stage", "archive", "checkpoint", "saved", "view", "policy")
    for value in vars(names).values():
        if isinstance(value, str) and value.startswith("gen_ai."):
            assert not any(word in value for word in ours)


def test_outcomes_are_the_vocabulary() -> None:
    """The outcomes of runs, passes and stages are the words of the architecture, in its order."""
    passes, stages = " ".join(names.PASS_OUTCOMES), " ".join(names.STAGE_OUTCOMES)
    assert passes == "compacted partial noop inflated failed cancelled"
    assert stages == "applied noop skipped refused failed cancelled"
    assert set(names.RUN_OUTCOMES) == {
        *("completed", "failed", "cancelled", "limit_reached", "suspended"),
    }


@pytest.mark.parametrize(
    "buckets",
    [
        names.TOKEN_BUCKETS,
        names.SECOND_BUCKETS,
        names.RATIO_BUCKETS,
        names.BYTE_BUCKETS,
        names.CHUNK_BUCKETS,
    ],
    ids=["tokens", "seconds", "ratios", "bytes", "chunks"],
)
def test_bucket_boundaries_rise(buckets: tuple[float, ...]) -> None:
    """Boundaries are strictly rising, as a histogram requires."""
    assert list(buckets) == sorted(set(buckets))


def test_byte_buckets_run_from_one_kibibyte_to_64_mebibytes() -> None:
    """The byte boundaries are the powers of four between 1 KiB and 64 MiB."""
    assert (names.BYTE_BUCKETS[0], names.BYTE_BUCKETS[-1]) == (1024, 64 * 1024 * 1024)


def test_every_metric_name_is_declared() -> None:
    """Each METRIC_ constant has its declaration in metrics.py, and each declaration a constant."""
    constants = {value for name, value in vars(names).items() if name.startswith("METRIC_")}
    assert constants == {metric.name for metric in METRICS}
    assert len(METRICS) == len(constants)


def test_the_scope_version_is_the_distribution_version() -> None:
    """The version that telemetry carries is that of the distribution."""
    project = tomllib.loads((REPO / "instrumentation" / "pyproject.toml").read_text())
    assert project["project"]["version"] == names.SCOPE_VERSION
