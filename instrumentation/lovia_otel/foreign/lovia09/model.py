"""Model calls of the 0.9 line: one `chat` span for each call of a provider's ``stream()``."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from opentelemetry import context as otel_context

from lovia_otel import names
from lovia_otel.foreign.lovia09 import run as runs
from lovia_otel.foreign.lovia09.messages import messages_of
from lovia_otel.foreign.passes import PassSpent, current_pass
from lovia_otel.guard import guarded
from lovia_otel.spans import ChatScope, chat_scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from lovia_otel.foreign.lovia09.run import Run

_IN_CALL: Final = otel_context.create_key("lovia09-call")


def observed_stream(stream: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``stream()`` method whose calls by an instrumented run are `chat` spans.

    A provider that passes the call on to another one makes one span, its own.
    """

    @functools.wraps(stream)
    def call(provider: Any, *args: Any, **kwargs: Any) -> Any:
        deltas = stream(provider, *args, **kwargs)
        run, passed = runs.current(), current_pass()
        if (run is None and passed is None) or otel_context.get_value(_IN_CALL) is not None:
            return deltas
        entries = args[0] if args else kwargs.get("entries", ())
        return _Call(provider, run, entries, kwargs.get("settings")).observed(deltas)

    return call


class _Call:
    """One model call, from the request to the last piece of the answer."""

    def __init__(
        self, provider: Any, run: Run | None, entries: Sequence[Any], settings: Any
    ) -> None:
        self._run, self._pass = run, current_pass()
        self._entries = entries
        summarizes = self._pass is not None
        self._purpose = names.PURPOSE_SUMMARIZE if summarizes else names.PURPOSE_TURN
        self._scope = _scope(provider, run, self._purpose, settings)
        self._answer: list[Any] = []
        self._text: list[str] = []
        self._usage: Any = None
        self._finish: str | None = None
        self._first: float | None = None

    async def observed(self, deltas: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield the pieces; the span is current while the provider works, never across a yield."""
        scope, started, error = self._scope.open(), time.perf_counter(), None
        try:
            while True:
                with scope.active():
                    otel_context.attach(otel_context.set_value(_IN_CALL, self))
                    try:
                        delta = await anext(deltas)
                    except StopAsyncIteration:
                        return
                if self._first is None:
                    self._first = time.perf_counter() - started
                self._take(delta)
                yield delta
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._settle()
            scope.close(error)
            close = getattr(deltas, "aclose", None)
            if close is not None:
                await close()

    @guarded
    def _take(self, delta: Any) -> None:
        kind = type(delta).__name__
        if kind == "UsageDelta":
            self._usage = delta.usage  # each report replaces the one before
        elif kind == "FinishDelta":
            self._finish = delta.reason
        elif kind == "EntryCompletedDelta":
            self._answer.append(delta.entry)
        elif kind == "TextDelta":
            self._text.append(delta.text)

    @guarded
    def _settle(self) -> None:
        usage = self._usage
        self._scope.settle(
            input_tokens=getattr(usage, "input_tokens", None),
            output_tokens=getattr(usage, "output_tokens", None),
            cache_read_tokens=getattr(usage, "cache_read_tokens", None),
            cache_write_tokens=getattr(usage, "cache_write_tokens", None),
            finish_reason=self._finish,
            time_to_first_chunk=self._first,
        )
        self._scope.content(
            input_messages=lambda: messages_of(self._entries),
            output_messages=lambda: messages_of(self._answer or ["".join(self._text)]),
        )
        if usage is None:
            return
        if self._run is not None:
            self._run.spend(self._purpose, usage.input_tokens, usage.output_tokens)
        if self._pass is not None:
            self._pass.spend(
                PassSpent(
                    summary_input_tokens=usage.input_tokens,
                    summary_output_tokens=usage.output_tokens,
                )
            )


def _scope(provider: Any, run: Run | None, purpose: str, settings: Any) -> ChatScope:
    of_turn = run if purpose == names.PURPOSE_TURN else None
    view = of_turn.view if of_turn is not None else None
    address = urlsplit(str(getattr(provider, "base_url", None) or ""))
    return chat_scope(
        provider=str(getattr(provider, "name", type(provider).__name__)),
        model=getattr(provider, "model", None),
        purpose=purpose,
        agent=run.agent if run is not None else None,
        session_id=run.session_id if run is not None else None,
        server_address=address.hostname,
        server_port=_port(address),
        temperature=getattr(settings, "temperature", None),
        top_p=getattr(settings, "top_p", None),
        max_tokens=getattr(settings, "max_tokens", None),
        sizes=of_turn.sizes if of_turn is not None else None,
        view=view,
        compacted=view in {names.VIEW_COMPACTED, names.VIEW_REPLAYED},
    )


def _port(address: Any) -> int | None:
    try:
        port: int | None = address.port
    except ValueError:
        return None
    return port
