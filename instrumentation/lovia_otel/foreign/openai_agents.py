"""The OpenAI Agents SDK: sessions that compact themselves, and filters of model input.

A session of the SDK's own asks the provider to compact (``responses.compact``); its client is seen
from inside, so that a decision not to act costs nothing and leaves no span. Of any other session
with a ``run_compaction()`` the items before and after are compared.
"""

from __future__ import annotations

from contextlib import ExitStack
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lovia_otel import names
from lovia_otel._proxy import stand_in
from lovia_otel.foreign.given import Given
from lovia_otel.foreign.passes import ObservedPass, PassAbout, PassSpent, now
from lovia_otel.foreign.sizes import Measure, size_by, size_from_bytes
from lovia_otel.foreign.twins import Watch, ancestry, listening, quietly
from lovia_otel.guard import guarded
from lovia_otel.spans import chat_scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lovia_otel.foreign.twins import Method
    from lovia_otel.observe import Observation, Predicate, Wrapper
    from lovia_otel.spans import ChatScope

_PACKAGE: Final = "agents"
_PROVIDER: Final = "openai"
_STAGE: Final = "responses_compact"  # what the stage in which the provider compacts is called

_under_way: ContextVar[_Compaction | None] = ContextVar("lovia_otel_compaction", default=None)


class SessionWatch(Watch):
    """Watches sessions with a ``run_compaction()``."""

    methods: ClassVar[tuple[str, ...]] = ("run_compaction",)

    def __init__(self, said: Observation) -> None:
        super().__init__()
        self._said = said

    def watch_run_compaction(self, inner: Method) -> Method:
        """Make a compaction a pass, with the items of the session before and after."""

        async def run_compaction(session: Any, *args: Any, **kwargs: Any) -> Any:
            if not listening():
                return await inner(session, *args, **kwargs)
            about = self.about(session, args, kwargs)
            before = await _items(session.get_items)
            with ObservedPass(
                before, about=about, measure=self.measure(), subject=session, lazy=True
            ) as observed:
                result = await inner(session, *args, **kwargs)
                observed.settle(await _items(session.get_items))
                return result

        return run_compaction

    def about(self, session: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> PassAbout:
        """Return what is known of a compaction of ``session`` beforehand."""
        said = self._said
        return PassAbout(
            policy=said.name_of(session),
            trigger=_trigger(session, args, kwargs) or names.TRIGGER_THRESHOLD,
            agent=said.agent,
            session_id=_text(getattr(session, "session_id", None)),
            model=_text(getattr(session, "model", None)),
            provider=_PROVIDER,
            window_tokens=said.window_tokens,
        )

    def measure(self) -> Measure:
        """Return how to measure items: sessions have no counter of their own."""
        return size_from_bytes if self._said.counter is None else size_by(self._said.counter)


class ResponsesSessionWatch(SessionWatch):
    """Watches the session that has the provider compact its items.

    All items of the store are told, before and after: the SDK may have only a part compacted.
    """

    def _members(self, kind: type) -> dict[str, Any]:
        plain: Any = kind.client  # type: ignore[attr-defined]

        def client(session: Any) -> Any:
            found, compaction = plain.__get__(session, kind), _of(session)
            return found if compaction is None else compaction.watching(found)

        return {**super()._members(kind), "client": property(client)}

    def watch_run_compaction(self, inner: Method) -> Method:
        """Make a compaction a pass that begins, in the trace, when the provider is asked."""

        async def run_compaction(session: Any, *args: Any, **kwargs: Any) -> Any:
            if not listening():
                return await inner(session, *args, **kwargs)
            compaction = _Compaction(session, self.about(session, args, kwargs), self.measure())
            token = _under_way.set(compaction)
            try:
                result = await inner(session, *args, **kwargs)
                await compaction.settle()
            except BaseException as error:
                if isinstance(error, Exception):  # when cancelled, nothing may be waited for
                    await compaction.look()
                compaction.end(error)
                raise
            else:
                compaction.end(None)
                return result
            finally:
                _under_way.reset(token)

        return run_compaction


class _Compaction:
    """One ``run_compaction()``: it becomes a pass when the provider is asked, or when it fails."""

    def __init__(self, session: Any, about: PassAbout, measure: Measure) -> None:
        self.session = session
        self._about = about
        self._measure = measure
        self._started = now()
        self._items: Sequence[Any] = ()
        self._pass: ObservedPass | None = None

    def watching(self, client: Any) -> Any:
        """Return a stand-in for the client whose ``responses.compact`` is the pass's model call."""

        async def compact(*args: Any, **kwargs: Any) -> Any:
            self._items = await _items(self.session.underlying_session.get_items)
            with ExitStack() as scopes:
                scope = self._begin(scopes, kwargs.get("model"))
                response = await client.responses.compact(*args, **kwargs)
                self._tell(scope, response)
                return response

        responses = stand_in(client.responses, lambda _: {"compact": compact})
        return stand_in(client, lambda _: {"responses": responses})

    async def look(self) -> None:
        """Look what the session holds, where that was not needed until now."""
        if self._pass is None:
            self._items = await _items(self.session.underlying_session.get_items)

    async def settle(self) -> None:
        """Settle the pass, if there is one, with the items that the session now has."""
        if self._pass is not None:
            after = await _items(self.session.underlying_session.get_items)
            self._pass.settle(after, changed=True, reason=_STAGE)

    @guarded
    def end(self, error: BaseException | None) -> None:
        """End the pass; an exception without one is a pass that failed before it asked anybody."""
        if error is not None:
            self._open()
        if self._pass is not None:
            self._pass.__exit__(None if error is None else type(error), error, None)

    def _open(self) -> None:
        if self._pass is None:
            self._pass = ObservedPass(
                self._items,
                about=self._about,
                measure=self._measure,
                subject=self.session,
                lazy=True,
                started=self._started,
            )
            self._pass.__enter__()

    @quietly(None)
    def _begin(self, scopes: ExitStack, model: Any) -> ChatScope | None:
        self._open()
        if self._pass is None:
            return None
        self._pass.last_stage(_STAGE)
        scope = chat_scope(
            provider=_PROVIDER,
            model=_text(model) or self._about.model,
            purpose=names.PURPOSE_SUMMARIZE,
            agent=self._about.agent,
            session_id=self._about.session_id,
            stream=False,
        )
        return scopes.enter_context(scope)

    @guarded
    def _tell(self, scope: ChatScope | None, response: Any) -> None:
        usage = getattr(response, "usage", None)
        spent, given = getattr(usage, "input_tokens", None), getattr(usage, "output_tokens", None)
        cached = getattr(getattr(usage, "input_tokens_details", None), "cached_tokens", None)
        if scope is not None:
            scope.settle(
                input_tokens=spent,
                output_tokens=given,
                cache_read_tokens=cached or None,
                response_id=_text(getattr(response, "id", None)),
            )
        if self._pass is not None:
            self._pass.spend(
                PassSpent(summary_calls=1, summary_input_tokens=spent, summary_output_tokens=given)
            )


def given(args: tuple[Any, ...], _kwargs: Mapping[str, Any]) -> Given | None:
    """Return what a ``call_model_input_filter`` is given: the input of one call of an agent."""
    data = args[0] if len(args) == 1 else None
    held = getattr(data, "model_data", None)
    if held is None or type(data).__module__.partition(".")[0] != _PACKAGE:
        return None
    agent = getattr(data, "agent", None)
    return Given(
        held.input,
        agent=_text(getattr(agent, "name", None)),
        model=_text(getattr(agent, "model", None)),
        provider=_PROVIDER,
        per_call=True,
    )


def _of(session: Any) -> _Compaction | None:
    """Return the compaction of this very session that is under way here."""
    compaction = _under_way.get()
    return compaction if compaction is not None and compaction.session is session else None


@quietly(names.TRIGGER_THRESHOLD)
def _trigger(session: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Return why a session compacts: because somebody forces it, or by its decision hook.

    The hook that the SDK brings counts items. The runner forces too, with a response's id, what it
    put off while tools were at work.
    """
    asked = (args[0] if args else kwargs.get("args")) or {}
    if asked.get("force") and not asked.get("response_id"):
        return names.TRIGGER_MANUAL
    decide = getattr(session, "should_trigger_compaction", None)
    own = type(session).__mro__[1].__module__ if decide is None else decide.__module__
    return names.TRIGGER_ENTRIES if own.startswith(f"{_PACKAGE}.") else names.TRIGGER_THRESHOLD


async def _items(read: Method) -> Sequence[Any]:
    """Read the items of a session; a store that cannot is none of telemetry's business."""
    try:
        found: Sequence[Any] = await read()
    except Exception:  # noqa: BLE001 - somebody else's store
        return ()
    return found


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _is_session(subject: object) -> bool:
    """Is this a session that can be compacted, of the SDK or of its protocol?"""
    shape = ("run_compaction", "get_items", "add_items")
    return not isinstance(subject, type) and all(
        callable(getattr(type(subject), name, None)) for name in shape
    )


def _is_responses_session(subject: object) -> bool:
    return (_PACKAGE, "OpenAIResponsesCompactionSession") in ancestry(subject)


def _observe_session(subject: Any, said: Observation) -> Any:
    return SessionWatch(said).twin(subject)


def _observe_responses_session(subject: Any, said: Observation) -> Any:
    return ResponsesSessionWatch(said).twin(subject)


WRAPPERS: Final[tuple[tuple[Predicate, Wrapper], ...]] = (
    (_is_session, _observe_session),
    (_is_responses_session, _observe_responses_session),
)
