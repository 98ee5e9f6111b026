"""The model calls of Pydantic AI's compaction, as ``chat`` spans."""

from __future__ import annotations

from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from lovia_otel import names
from lovia_otel.foreign.passes import PassSpent, current_pass
from lovia_otel.foreign.twins import Watch, quietly
from lovia_otel.spans import chat_scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lovia_otel.foreign.passes import ObservedPass
    from lovia_otel.foreign.twins import Method
    from lovia_otel.spans import ChatScope


class ModelWatch(Watch):
    """Watches models whose calls inside a pass are those of a summary; outside they are nobody's.

    Where Pydantic AI's own instrumentation is on, each call has its ``chat`` span already: then
    only what it spent is added to the pass.
    """

    methods: ClassVar[tuple[str, ...]] = ("request", "request_stream", "compact_messages")
    base = "Model"

    def watch_request(self, inner: Method) -> Method:
        """Make a call inside a pass a ``chat`` span."""

        async def request(model: Any, *args: Any, **kwargs: Any) -> Any:
            observed = current_pass()
            if observed is None or not observed.live:
                return await inner(model, *args, **kwargs)
            with ExitStack() as scopes:
                scope = _open(scopes, observed, model)
                response = await inner(model, *args, **kwargs)
                _settle(observed, scope, response)
                return response

        return request

    watch_compact_messages = watch_request

    def watch_request_stream(self, inner: Method) -> Method:
        """Make a streamed call inside a pass a ``chat`` span that lasts as long as the stream."""

        @asynccontextmanager
        async def request_stream(model: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            observed = current_pass()
            async with inner(model, *args, **kwargs) as stream:
                if observed is None or not observed.live:
                    yield stream
                    return
                with ExitStack() as scopes:
                    scope = _open(scopes, observed, model, stream=True)
                    yield stream
                    _settle(observed, scope, stream.get())

        return request_stream


@quietly(None)
def _open(
    scopes: ExitStack, observed: ObservedPass, model: Any, *, stream: bool = False
) -> ChatScope | None:
    if not observed.opened:  # a strategy without stages: the call is all there is
        observed.last_stage(observed.about.policy)
    if getattr(observed, "instrumented", False):
        return None
    scope = chat_scope(
        provider=str(model.system),
        model=str(model.model_name),
        purpose=names.PURPOSE_SUMMARIZE,
        agent=observed.about.agent,
        session_id=observed.about.session_id,
        stream=stream,
    )
    return scopes.enter_context(scope)


@quietly(None)
def _settle(observed: ObservedPass, scope: ChatScope | None, response: Any) -> None:
    usage = response.usage
    observed.spend(
        PassSpent(
            summary_calls=1,
            summary_input_tokens=usage.input_tokens,
            summary_output_tokens=usage.output_tokens,
        )
    )
    if scope is not None:
        scope.settle(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=getattr(usage, "cache_read_tokens", None) or None,
            cache_write_tokens=getattr(usage, "cache_write_tokens", None) or None,
            response_model=response.model_name,
            response_id=getattr(response, "provider_response_id", None),
            finish_reason=getattr(response, "finish_reason", None),
        )
