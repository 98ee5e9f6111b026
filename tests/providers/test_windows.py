"""Tests of the windows that are known by name."""

from __future__ import annotations

from typing import get_args

import pytest
from anthropic.types.model import Model
from openai.types.shared.chat_model import ChatModel

from lovia.providers.windows import anthropic_window, openai_window


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-6.2-astra", 922_000),
        ("gpt-5.5-2026-04-23", 922_000),
        ("gpt-5.4-mini-2026-03-17", 272_000),
        ("gpt-5-nano", 272_000),
        ("gpt-5.2-chat-latest", 128_000),
        ("gpt-4.1-mini", 1_047_576),
        ("gpt-4o-mini", 128_000),
        ("gpt-4-0613", 8_192),
        ("o3-mini", 200_000),
        ("llama-4", None),
    ],
)
def test_models_of_openai(model: str, window: int | None) -> None:
    """The longest known beginning of a name decides; dated versions are like their model."""
    assert openai_window(model) == window


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-fable-5-2", 1_000_000),
        ("claude-opus-4-6", 1_000_000),
        ("claude-sonnet-4-5-20250929", 200_000),
        ("claude-3-5-haiku-latest", 200_000),
        ("claude-next", None),
    ],
)
def test_models_of_anthropic(model: str, window: int | None) -> None:
    """Generation 4.6 and later take a million tokens, earlier ones 200,000."""
    assert anthropic_window(model) == window


def test_the_models_that_the_sdks_list_are_known() -> None:
    """Whatever chat model an installed SDK names has a window here."""
    anthropic = [name for part in get_args(Model) for name in get_args(part)]
    assert [name for name in anthropic if anthropic_window(name) is None] == []
    openai = [name for name in get_args(ChatModel) if not name.startswith(("gpt-audio", "codex"))]
    assert [name for name in openai if openai_window(name) is None] == []
