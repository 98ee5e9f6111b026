"""Whatever kind of policy is observed: results, exceptions and the policy stay what they are."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from lovia_otel import names, observe

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.otel.conftest import Telemetry

MESSAGES = [{"role": "user", "content": f"{number} and so on"} for number in range(6)]
RETURNED = MESSAGES[-2:]
RAISED = KeyError("cannot be kept")


class Applying:
    """An async policy that is asked by `apply`."""

    fails = False

    async def apply(self, entries: list[Any], *, ctx: Any = None) -> Any:
        """Answer or fail."""
        return answered(fails=self.fails)


class ApplyingAtOnce:
    """A sync policy that is asked by `apply`, and returns a list."""

    fails = False

    def apply(self, entries: list[Any], *, ctx: Any = None) -> Any:
        """Answer or fail."""
        return answered(fails=self.fails)


class Compacting:
    """An async policy that is asked by `compact`."""

    fails = False

    async def compact(self, req: Any) -> Any:
        """Answer or fail."""
        return answered(fails=self.fails)


class CompactingAtOnce:
    """A sync policy that is asked by `compact`."""

    fails = False

    def compact(self, req: Any) -> Any:
        """Answer or fail."""
        return answered(fails=self.fails)


class Called:
    """An object that is called with messages."""

    fails = False

    def __call__(self, messages: list[Any]) -> Any:
        """Answer or fail."""
        return answered(fails=self.fails)


class CalledAndAwaited:
    """An object that is called with messages, and awaited."""

    fails = False

    async def __call__(self, messages: list[Any]) -> Any:
        """Answer or fail."""
        return answered(fails=self.fails)


def answered(*, fails: bool) -> Any:
    """Return the one answer, or raise the one exception."""
    if fails:
        raise RAISED
    return RETURNED


def asking(policy: Any) -> Callable[[], Any]:
    """Return how a policy is asked, by what it has."""
    if hasattr(policy, "apply"):
        return lambda: policy.apply(MESSAGES, ctx=None)
    if hasattr(policy, "compact"):
        return lambda: policy.compact(SimpleNamespace(entries=MESSAGES))
    return lambda: policy(MESSAGES)


each_kind = pytest.mark.parametrize(
    "kind", [Applying, ApplyingAtOnce, Compacting, CompactingAtOnce, Called, CalledAndAwaited]
)


@pytest.mark.anyio
@each_kind
async def test_what_it_returns_comes_out(kind: Any, telemetry: Telemetry) -> None:
    """The very object; sync stays sync; the pass has before, after, duration and outcome."""
    plain, observed = kind(), observe(kind())
    expected, result = asking(plain)(), asking(observed)()
    assert inspect.isawaitable(result) == inspect.isawaitable(expected)
    if inspect.isawaitable(expected):
        expected, result = await expected, await result
    assert result is expected is RETURNED
    about = telemetry.attributes(names.SPAN_PASS)
    assert about[names.COMPACTION_OUTCOME] == names.COMPACTED
    assert about[names.COMPACTION_ENTRIES_BEFORE] == 6
    assert about[names.COMPACTION_ENTRIES_AFTER] == 2
    assert about[names.COMPACTION_TOKENS_BEFORE] > about[names.COMPACTION_TOKENS_AFTER] > 0
    (duration,) = telemetry.points(names.METRIC_COMPACTION_DURATION)
    assert (duration.count, duration.attributes[names.COMPACTION_POLICY]) == (1, kind.__name__)


@pytest.mark.anyio
@each_kind
async def test_what_it_raises_comes_out(kind: Any, telemetry: Telemetry) -> None:
    """The very exception; the pass has failed by it."""
    observed = observe(kind())
    observed.fails = True

    async def ask() -> None:
        result = asking(observed)()
        if inspect.isawaitable(result):
            await result

    with pytest.raises(KeyError) as caught:
        await ask()
    assert caught.value is RAISED
    about = telemetry.attributes(names.SPAN_PASS)
    assert (about[names.COMPACTION_OUTCOME], about[names.ERROR_TYPE]) == (names.FAILED, "KeyError")


@each_kind
def test_it_is_what_it_was(kind: Any, telemetry: Telemetry) -> None:
    """Class, attributes and what can be asked of it; observing it again changes nothing."""
    policy = kind()
    observed = observe(policy)
    assert isinstance(observed, kind)
    observed.fails = 7
    assert policy.fails == 7
    assert dir(observed) == dir(policy)
    assert callable(observed) == callable(policy)
    assert observe(observed) is observed
