"""The former default policy's settings, as ours."""

from __future__ import annotations

from typing import Any

import pytest

from lovia import CompactingContextPolicy, Compaction, UserError
from tests.cases.support import Conversation, summaries
from tests.notation import A, U


@pytest.mark.parametrize(
    ("former", "limits"),
    [
        ({}, (None, 0.85, 0.6, None, 16_384)),
        ({"context_window": 200_000, "compact_at": 0.9}, (200_000, 0.9, 0.6, None, 16_384)),
        ({"context_window": 8_000}, (8_000, 0.85, 0.6, None, 4_000)),
        ({"compact_at": 150_000, "compact_to": 90_000}, (None, 1.0, 0.6, 150_000, 16_384)),
        ({"compact_at": 150_000, "compact_to": 0.5}, (None, 1.0, 0.5, 150_000, 16_384)),
        (
            {"context_window": 100_000, "compact_at": 80_000, "compact_to": 0.5},
            (100_000, 1.0, 0.5 * (100_000 - 16_384) / 80_000, 80_000, 16_384),
        ),
        (
            {"context_window": 60_000, "compact_to": 20_000, "reserve_output_tokens": 10_000},
            (60_000, 0.85, 0.4, None, 10_000),
        ),
    ],
)
def test_limits_mean_what_they_meant(former: dict[str, Any], limits: Any) -> None:
    """Shares stay shares of the window without the reserve; tokens stay tokens."""
    with pytest.warns(DeprecationWarning, match="CompactingContextPolicy"):
        options = Compaction(**former).options
    assert options.max_entries is None
    assert (
        options.context_window_tokens,
        options.trigger_ratio,
        options.target_ratio,
        options.trigger_tokens,
        options.reserve_output_tokens,
    ) == limits


def test_the_warning_is_the_call_that_replaces_it() -> None:
    """What the warning shows can be pasted, and gives a policy of the same settings."""
    with pytest.warns(DeprecationWarning, match="now CompactingContextPolicy") as caught:
        former = Compaction(context_window=50_000, compact_at=30_000, compact_to=10_000)
    shown = str(caught[0].message).removeprefix("Compaction(...) is now ").removesuffix(".")
    policy = eval(shown, {"CompactingContextPolicy": CompactingContextPolicy})
    assert policy.options == former.options
    assert caught[0].filename == __file__


@pytest.mark.parametrize("name", ["keep_recent_tokens", "image_tokens"])
def test_settings_without_effect_are_named(name: str) -> None:
    """A setting that does nothing any more says so, and what to look at instead."""
    settings: dict[str, Any] = {name: 1_000}
    with pytest.warns(DeprecationWarning, match=f"{name} has no effect; see "):
        Compaction(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"store": object()}, id="store"),
        pytest.param({"stages": []}, id="stages"),
        pytest.param({"compact_to": 5_000}, id="absolute_target"),
    ],
)
def test_what_cannot_be_translated_is_refused(settings: Any) -> None:
    """A setting that would lose its meaning draws an error that says what to use."""
    with pytest.raises(UserError) as caught:
        Compaction(**settings)
    assert caught.value.hint


@pytest.mark.anyio
async def test_a_former_summarizer_writes_the_summary() -> None:
    """A summarizer that takes `req` is asked as before, and told what was summarised before."""
    asked: list[Any] = []

    class Former:
        async def summarize(
            self, entries: list[Any], *, req: Any, prior_summary: str | None = None
        ) -> str:
            asked.append((req.model, req.entries == entries, prior_summary))
            return f"Summary {len(asked)}."

    with pytest.warns(DeprecationWarning, match="CompactingContextPolicy"):
        policy = Compaction(
            context_window=4_000, compact_at=1_000, compact_to=500, summarizer=Former()
        )
    talk = Conversation(policy, model="m")
    told = [entry for n in range(60) for entry in (U(f"q{n}"), A("a", tokens=60))]
    result = await talk.view(*told, U("now"))
    assert result.summary == f"Summary {len(asked)}."
    assert len(summaries(result.entries)) == 1
    before = [None, *[f"Summary {number}." for number in range(1, len(asked))]]
    assert asked == [("m", True, prior) for prior in before]
    assert len(asked) > 1
