"""Tests of the SDK clients: loaded late, one for each event loop, kept warm, closed on request."""

from __future__ import annotations

import gc
import subprocess
import sys
from contextlib import suppress
from typing import Any

import anyio
import pytest

from lovia import Agent
from lovia.errors import ProviderError, UserError
from lovia.providers.clients import close_clients, load_sdk, shared_client
from lovia.providers.openai import OpenAIChatProvider
from tests.notation import U
from tests.paths import REPO
from tests.providers.support import CHAT, COMPATIBLE, MESSAGES, RESPONSES, WIRES, Wire, ask, serving
from tests.providers.wire.script import Failure, says
from tests.providers.wire.server import WireServer


def test_a_missing_sdk_names_the_extra() -> None:
    """Without the SDK the error says which extra to install."""
    with pytest.raises(UserError) as caught:
        load_sdk("no_such_sdk")
    assert 'pip install "lovia[no_such_sdk]"' in (caught.value.hint or "")


@pytest.mark.parametrize("model", ["openai:gpt-5.5", "anthropic:claude-opus-5-5"])
def test_asking_without_the_sdk_is_a_clear_error(model: str) -> None:
    """A run of a named model fails with the extra's name when its SDK is not installed."""
    vendor = model.partition(":")[0]
    code = f"""
import sys
sys.modules[{vendor!r}] = None
from lovia import Agent, Runner, UserError
try:
    Runner.run_sync(Agent("a", model={model!r}), "hi")
except UserError as error:
    print(error.hint)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=False
    )
    assert f'pip install "lovia[{vendor}]"' in done.stdout, done.stderr


@pytest.mark.anyio
@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
async def test_a_connection_is_used_again(wire: Wire) -> None:
    """Providers of one endpoint share their connections; a whole answer frees its own."""
    ports: list[str] = []

    class Watched(WireServer):
        def answer(self, request: Any) -> Any:
            ports.append(request.headers["x-port"])
            return super().answer(request)

    with Watched(says("Yes."), official=wire.official) as server:
        try:
            for _ in range(3):
                await ask(wire.provider(server), [U()])
        finally:
            await close_clients()
    assert len(set(ports)) == 1


def test_each_event_loop_has_its_own_client() -> None:
    """A provider works in one event loop after another, as `run_sync` makes them."""

    async def once(provider: Any) -> str:
        try:
            return (await ask(provider, [U()])).text
        finally:
            await provider.aclose()

    with WireServer(says("Yes.")) as server:
        provider = CHAT.provider(server)
        assert [anyio.run(once, provider, backend=b) for b in ("asyncio", "trio", "asyncio")] == [
            "Yes."
        ] * 3


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
@pytest.mark.parametrize("answer", [says("Yes."), Failure(500, {})], ids=["answer", "error"])
def test_run_sync_leaves_no_connection_open(wire: Wire, answer: Any) -> None:
    """The event loop of `run_sync` ends with it, so what was opened on it is closed before."""
    with WireServer(answer, official=wire.official) as server:
        provider = wire.provider(server)
        agent: Agent[Any] = Agent(name="bot", model=provider, retry=None)
        with suppress(ProviderError):
            assert agent.run_sync("Well?").output == "Yes."
        assert server.requests
        clients = [one for one in gc.get_objects() if isinstance(one, client_class(provider))]
        made = [one for one in clients if hasattr(one, "_base_url")]  # others failed half-made
        ours = [one for one in made if str(one.base_url).startswith(server.url)]
    assert [one.is_closed() for one in ours] == [True]


def client_class(provider: Any) -> Any:
    """Return the class of the SDK's clients that a provider makes."""
    return getattr(load_sdk(provider.sdk), provider.client_class)


@pytest.mark.anyio
async def test_closing_leaves_a_working_provider() -> None:
    """After `aclose` a provider opens a new client; other endpoints keep theirs."""
    made: list[object] = []

    class Client:
        def __init__(self) -> None:
            self.closed = False
            made.append(self)

        async def close(self) -> None:
            self.closed = True

    first, other = await shared_client("a", Client), await shared_client("b", Client)
    assert await shared_client("a", Client) is first
    await close_clients("a")
    assert (first.closed, other.closed) == (True, False)
    assert await shared_client("a", Client) is not first
    await close_clients()
    assert other.closed
    assert len(made) == 3


@pytest.mark.anyio
async def test_a_client_of_the_user_s_own_is_used_without_its_retries() -> None:
    """A given client brings its key and address, stays open, and does not retry by itself."""
    import openai

    with WireServer(says("Yes."), official=False) as server:
        own = openai.AsyncOpenAI(base_url=server.openai_url, api_key="mine", max_retries=5)
        provider = OpenAIChatProvider("m", client=own)
        assert (await ask(provider, [U()])).text == "Yes."
        assert server.requests[0].headers["authorization"] == "Bearer mine"
        assert provider.base_url.rstrip("/") == server.openai_url
        await provider.aclose()
        assert (await ask(provider, [U()])).text == "Yes."
        await own.close()


@pytest.mark.anyio
@pytest.mark.parametrize("whose", ["ours", "the user's"])
@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
async def test_no_sdk_retries_by_itself(wire: Wire, whose: str) -> None:
    """A failure is told at once, so that the runner's policy decides and every attempt counts."""
    with WireServer(Failure(500, {}), says("Yes."), official=wire.official) as server:
        provider = wire.provider(server)
        own = None
        if whose == "the user's":
            address = server.url + wire.prefix
            own = client_class(provider)(base_url=address, api_key="mine", max_retries=5)
            provider = wire.provider(server, client=own)
        with pytest.raises(ProviderError) as caught:
            await ask(provider, [U()])
        assert (caught.value.status_code, len(server.requests)) == (500, 1)
        await close_clients()
        if own is not None:
            await own.close()


@pytest.mark.anyio
@pytest.mark.parametrize("wire", [CHAT, RESPONSES, MESSAGES], ids=lambda wire: wire.name)
async def test_no_key_is_a_clear_error(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key for the vendor's own address nothing is sent, and the error says what lacks."""
    monkeypatch.setenv("HOME", "/nonexistent")
    provider = wire.make(wire.model)
    with pytest.raises(UserError, match="credentials") as caught:
        await ask(provider, [U()])
    assert "API key" in (caught.value.hint or "")


@pytest.mark.anyio
async def test_a_server_of_one_s_own_needs_no_key() -> None:
    """Requests to another address than the vendor's are sent without a key as well."""
    async with serving(COMPATIBLE, says("Yes."), options={"api_key": None}) as (server, provider):
        assert (await ask(provider, [U()])).text == "Yes."
        assert server.refusals == []


@pytest.mark.anyio
async def test_nobody_there_may_be_tried_again() -> None:
    """A refused connection is a failure to retry, and says what failed."""
    with WireServer(says("x")) as server:
        provider = CHAT.provider(server)
    with pytest.raises(ProviderError, match="connection") as caught:
        await ask(provider, [U()])
    assert caught.value.retryable
    await close_clients()


@pytest.mark.anyio
@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
async def test_headers_and_fields_of_the_provider_s_own(wire: Wire) -> None:
    """Headers and body fields that a provider was given go with every request."""
    fields = {"metadata": {"user_id": "u1"}}
    options = {"default_headers": {"x-team": "tides"}, "extra_body": fields}
    async with serving(wire, says("Yes."), options=options) as (server, provider):
        await ask(provider, [U()])
        assert server.requests[0].headers["x-team"] == "tides"
        assert server.bodies[0]["metadata"] == {"user_id": "u1"}
