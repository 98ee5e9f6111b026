"""A twin is the object in every respect but the methods that are watched."""

from __future__ import annotations

import copy
import dataclasses
import gc
from typing import TYPE_CHECKING, Any

import pytest

from lovia_otel.foreign.twins import Watch, ancestry, quietly

if TYPE_CHECKING:
    from lovia_otel.foreign.twins import Method


class Base:
    """A framework's base class, whose methods do nothing."""

    def before(self, value: int) -> int:
        """Do nothing."""
        return value

    def after(self, value: int) -> int:
        """Do nothing."""
        return value


@dataclasses.dataclass
class Doubler(Base):
    """A user's class, which overrides one of them and calls itself."""

    factor: int = 2
    log: list[str] = dataclasses.field(default_factory=list)

    def before(self, value: int) -> int:
        """Multiply."""
        return self.times(value)

    def times(self, value: int) -> int:
        """Multiply."""
        return value * self.factor


class Noting(Watch):
    """Notes which methods were called."""

    methods = ("before", "after", "times", "missing")
    base = "Base"

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def _noted(self, inner: Method) -> Method:
        def call(subject: Any, value: int) -> Any:
            self.calls.append(inner.__name__)
            return inner(subject, value)

        return call

    watch_before = watch_after = watch_times = watch_missing = _noted


def test_a_twin_sees_calls_from_outside_and_from_inside() -> None:
    """What the object calls on itself is seen as well, and the results are its own."""
    watch = Noting()
    assert watch.twin(Doubler()).before(21) == 42
    assert watch.calls == ["before", "times"]


def test_the_original_is_not_watched() -> None:
    """Only who holds the twin is told of."""
    watch, original = Noting(), Doubler()
    watch.twin(original)
    assert original.before(21) == 42
    assert watch.calls == []


def test_a_method_of_the_base_class_stays_as_it_is() -> None:
    """Frameworks ask which methods a class has overridden."""
    twin = Noting().twin(Doubler())
    assert type(twin).after is Base.after
    assert type(twin).before is not Base.before


def test_both_have_the_same_state() -> None:
    """An attribute that is set on one is set on the other, in both directions."""
    original = Doubler()
    twin = Noting().twin(original)
    twin.factor = 3
    original.log.append("x")
    assert (original.factor, twin.log) == (3, ["x"])
    assert twin.__wrapped__ is original


def test_a_twin_is_told_apart_by_nothing() -> None:
    """Class name, module, documentation and signatures are those of the object."""
    twin = Noting().twin(Doubler())
    assert isinstance(twin, Doubler)
    assert type(twin).__name__ == "Doubler"
    assert type(twin).__qualname__ == "Doubler"
    assert type(twin).__module__ == __name__
    assert type(twin).__doc__ == Doubler.__doc__
    assert twin.before.__doc__ == Doubler.before.__doc__


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda twin: dataclasses.replace(twin, factor=2)],
    ids=["copy", "deepcopy", "replace"],
)
def test_a_copy_of_a_twin_is_watched_and_has_a_state_of_its_own(again: Any) -> None:
    """Frameworks make copies for each run."""
    watch, original = Noting(), Doubler()
    made = again(watch.twin(original))
    made.factor = 5
    assert made.before(2) == 10
    assert watch.calls == ["before", "times"]
    assert original.factor == 2


class Owner:
    """Frees something when it goes."""

    freed: list[str] = []  # noqa: RUF012 - shared on purpose

    def __del__(self) -> None:
        self.freed.append("freed")


def test_what_they_share_is_freed_once_and_last() -> None:
    """The original lives as long as its twin, and frees what both have."""
    Owner.freed.clear()
    twin = Noting().twin(Owner())
    gc.collect()
    assert Owner.freed == []
    del twin
    gc.collect()
    assert Owner.freed == ["freed"]


def test_two_twins_of_one_class_are_of_one_class() -> None:
    """A class is made once for each class and watch."""
    watch = Noting()
    assert type(watch.twin(Doubler())) is type(watch.twin(Doubler()))


def test_what_fails_quietly_returns_its_default() -> None:
    """Looking at somebody else's object never breaks a run."""
    assert quietly("nothing")(lambda: 1 // 0)() == "nothing"
    assert quietly("nothing")(lambda: "something")() == "something"


def test_the_ancestry_names_packages_and_classes() -> None:
    """Each class an object inherits from, by its top package."""
    assert list(ancestry(Doubler()))[-1] == ("builtins", "object")
    assert ("tests", "Base") in list(ancestry(Doubler()))
