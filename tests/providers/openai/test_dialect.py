"""Tests of what is known of servers by their address."""

from __future__ import annotations

import pytest

from lovia.providers.openai import COMPATIBLE_DIALECT, OPENAI_DIALECT, OpenAIChatProvider
from lovia.providers.openai.dialect import host_of


@pytest.mark.parametrize(
    ("address", "name", "origin"),
    [
        ("https://api.openai.com/v1", "openai", "openai"),
        ("https://mine.openai.azure.com/openai/v1", "azure.ai.openai", "azure.ai.openai"),
        ("https://api.deepseek.com", "deepseek", "deepseek"),
        ("https://api.moonshot.cn/v1", "moonshot_ai", "moonshot_ai"),
        ("http://localhost:11434/v1", "openai", "localhost"),
        ("https://evil-api.openai.com.example/v1", "openai", "evil-api.openai.com.example"),
        ("http://[bad", "openai", ""),
    ],
)
def test_a_server_is_known_by_its_address(address: str, name: str, origin: str) -> None:
    """A known host has a name of its own; what an unknown one thinks belongs to that host alone."""
    host = host_of(address)
    assert (host.name, host.origin) == (name, origin)
    official = name in {"openai", "azure.ai.openai"} and origin == name
    assert (host.dialect is OPENAI_DIALECT) == official


def test_the_window_is_known_at_the_vendor_s_own_address_only() -> None:
    """A gateway may take less than the vendor, so nobody guesses; a given window always counts."""
    assert OpenAIChatProvider("gpt-4o").context_window() == 128_000
    gateway = "https://gateway.example/v1"
    assert OpenAIChatProvider("gpt-4o", base_url=gateway).context_window() is None
    assert OpenAIChatProvider("x", context_window=9_000).context_window() == 9_000


def test_the_environment_names_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """`OPENAI_BASE_URL` is the address unless one is given."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    assert OpenAIChatProvider("m").base_url == "http://localhost:8000/v1"
    assert OpenAIChatProvider("m").dialect is COMPATIBLE_DIALECT
    assert OpenAIChatProvider("m", base_url="http://other/v1").base_url == "http://other/v1"


def test_a_schema_is_sent_where_it_is_kept_to() -> None:
    """OpenAI gets a requested output type as a schema; an unknown server when it is asked for."""
    local = "http://localhost:8000/v1"
    assert OpenAIChatProvider("m").supports_json_schema
    assert not OpenAIChatProvider("m", base_url=local).supports_json_schema
    assert OpenAIChatProvider("m", base_url=local, supports_json_schema=True).supports_json_schema
