"""What happened, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lovia.context.policy import StageRecord
from lovia.replay.story import count, describe_pass, describe_turn, short, signed
from tests.replay.test_result import DONE, TURN


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (None, "-"),
        (0, "0"),
        (9_800, "9,800"),
        (15_200, "15k"),
        (-15_200, "-15k"),
        (1_260_000, "1.3M"),
    ],
)
def test_a_short_number_has_at_most_five_characters(number: int | None, told: str) -> None:
    """Large numbers are told in thousands and millions."""
    assert short(number) == told
    assert count(None) == "-"


@pytest.mark.parametrize(("number", "told"), [(5, "+5"), (0, "0"), (-1_500, "-1,500")])
def test_a_change_has_a_sign(number: int, told: str) -> None:
    """A change is told with its sign, nothing without one."""
    assert signed(number) == told


@pytest.mark.parametrize(
    ("done", "told"),
    [
        (DONE, "middle_snip -500"),
        (replace(DONE, reactive=True), "refused by the window: middle_snip -500"),
        (replace(DONE, stages=()), "middle_snip"),
        (replace(DONE, outcome="noop", stages=(), reason=None), "noop"),
        (
            replace(DONE, outcome="partial", stages=(StageRecord("mine", "failed", 9, 9),)),
            "mine failed",
        ),
        (
            replace(DONE, outcome="inflated", stages=(StageRecord("mine", "skipped", 9, 9),)),
            "inflated",
        ),
    ],
)
def test_a_pass_is_told_by_its_stages(done: object, told: str) -> None:
    """Stages that acted or failed are named, and a pass that changed nothing says how it ended."""
    assert describe_pass(done) == told  # type: ignore[arg-type] # a pass, from the list above


def test_a_turn_is_told_by_its_passes() -> None:
    """A quiet turn has nothing to tell; an overflow always has."""
    assert describe_turn(replace(TURN, passes=())) == ""
    overflow = replace(TURN, passes=(DONE, DONE), overflow=True)
    assert describe_turn(overflow).count("; ") == 2
