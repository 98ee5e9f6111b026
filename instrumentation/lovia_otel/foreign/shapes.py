"""Policies known by their shape: ``apply()``, ``compact()``, and callables on lists of messages.

That is the shape of lovia's own policies and of those of its 0.9 line, and of what users write for
either; a policy may return a result object or a bare list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lovia_otel import names
from lovia_otel._proxy import stand_in
from lovia_otel.foreign import openai_agents, pydantic_ai
from lovia_otel.foreign.calls import watched
from lovia_otel.foreign.given import Given, Reader
from lovia_otel.foreign.inside import reaching_inside
from lovia_otel.foreign.lovia09.counting import is_request, measure_for, tools_tokens
from lovia_otel.foreign.passes import ObservedPass, PassAbout, PassSpent
from lovia_otel.foreign.sizes import Measure, Size, size_by, size_from_bytes

if TYPE_CHECKING:
    from lovia_otel.observe import Observation, Predicate, Wrapper

# Frameworks that call plain functions, each with its own kinds of arguments.
_READERS: Final[tuple[Reader, ...]] = (pydantic_ai.given, openai_agents.given)

# Modules whose policies open their own passes. A subclass of one of them does too.
_RECORDS_ITSELF: Final = ("lovia.context.compacting", "lovia.context.compat")

# What starts a pass, by the method that is asked. `compact` says in its request whether it is one
# after an overflow.
_TRIGGERS: Final = {
    "apply": names.TRIGGER_THRESHOLD,
    "apply_reactive": names.TRIGGER_OVERFLOW,
    "compact_now": names.TRIGGER_MANUAL,
    "compact": names.TRIGGER_THRESHOLD,
}


def records_itself(subject: object) -> bool:
    """Is this one of lovia's own policies, or a subclass of one?"""
    return any(kind.__module__ in _RECORDS_ITSELF for kind in type(subject).__mro__)


def is_policy(subject: object) -> bool:
    """Has this object the shape of a policy, and is it no class?"""
    return not isinstance(subject, type) and any(
        callable(getattr(subject, name, None)) for name in ("apply", "compact")
    )


def is_plain_callable(subject: object) -> bool:
    """Can this be called, and is it no class?"""
    return callable(subject) and not isinstance(subject, type)


def observed_policy(policy: Any, said: Observation) -> Any:
    """Return a stand-in for a policy whose methods make passes."""
    return stand_in(policy, partial(_policy_methods, said=said))


def observed_callable(function: Any, said: Observation) -> Any:
    """Return a function, or a stand-in for a callable object, each call of which is a pass.

    What is a list of messages among the arguments, a framework's own types may tell; else it is
    the first, or the one called ``messages``.
    """

    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ObservedPass:
        given = _given(args, kwargs)
        about = PassAbout(
            policy=said.name_of(function),
            agent=said.agent or given.agent,
            session_id=given.session_id,
            model=given.model,
            provider=given.provider,
            window_tokens=said.window_tokens,
            per_call=given.per_call,
        )
        return ObservedPass(
            given.messages, about=about, measure=_measure(function, said), subject=function
        )

    if isinstance(getattr(function, "__name__", None), str):
        return _marked(watched(function, begin, settle_pass))
    return stand_in(
        function, lambda wrapped: {"__call__": watched(wrapped.__call__, begin, settle_pass)}
    )


def _given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
    for read in _READERS:
        found = read(args, kwargs)
        if found is not None:
            return found
    first = args[0] if args else kwargs.get("messages", next(iter(kwargs.values()), None))
    return Given(view_of(first), per_call=True)


def view_of(value: Any) -> Sequence[Any]:
    """Return the list of messages that ``value`` is or holds.

    Raises:
        TypeError: it is no list and holds none.
    """
    for name in ("entries", "messages", "input"):
        held = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        if isinstance(held, list | tuple):
            return held
    if isinstance(value, list | tuple):
        return value
    raise TypeError("no list of messages")


WRAPPERS: Final[tuple[tuple[Predicate, Wrapper], ...]] = (
    (is_plain_callable, observed_callable),
    (is_policy, observed_policy),
    (records_itself, lambda policy, _: policy),
)


# --- a policy's methods ---


def _policy_methods(policy: Any, said: Observation) -> Mapping[str, Callable[..., Any]]:
    inner = reaching_inside(policy)
    asked = _Asked(policy, said, has_stages=inner is not policy)
    return {
        name: watched(getattr(inner, name), partial(asked.begin, name), settle_pass)
        for name in _TRIGGERS
        if callable(getattr(policy, name, None))
    }


@dataclass(frozen=True)
class _Asked:
    """A policy that is observed. One whose stages are in reach has a span only when one works."""

    policy: Any
    said: Observation
    has_stages: bool

    def begin(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ObservedPass:
        given = args[0] if args else kwargs.get("entries", kwargs.get("req", kwargs.get("request")))
        # A request is all that `compact` gets; `apply` gets the entries and a context.
        second = kwargs.get("ctx", args[1] if len(args) > 1 else None)
        ctx = given if method == "compact" else second
        return ObservedPass(
            view_of(given),
            about=self._about(method, ctx),
            measure=_measure(self.policy, self.said, ctx),
            subject=getattr(self.policy, "__wrapped__", self.policy),
            lazy=self.has_stages,
        )

    def _about(self, method: str, ctx: Any) -> PassAbout:
        said, provider = self.said, getattr(ctx, "provider", None)
        overflow = getattr(ctx, "overflow", False) is True
        return PassAbout(
            policy=said.name_of(self.policy),
            trigger=names.TRIGGER_OVERFLOW if overflow else _TRIGGERS[method],
            agent=said.agent or _text(getattr(ctx, "agent", None)),
            session_id=_text(getattr(ctx, "session_id", None)),
            model=_text(getattr(ctx, "model", None)) or _text(getattr(provider, "model", None)),
            provider=_text(getattr(provider, "name", None)),
            window_tokens=said.window_tokens or _window(self.policy),
            fixed_tokens=tools_tokens(ctx) if is_request(ctx) else 0,
            per_call=True,
            in_runtime=True,
        )


def settle_pass(observed: ObservedPass, result: Any) -> None:
    """Hand over what a policy returned: what it says of itself, else what its messages tell."""
    changed = getattr(result, "compacted", getattr(result, "changed", None))
    if getattr(result, "view", None) == "replayed":
        changed = False
    outcome = getattr(result, "outcome", None)
    usage = getattr(result, "usage", None)
    summary = getattr(result, "summary", None)
    observed.settle(
        view_of(result),
        changed=changed if isinstance(changed, bool) else None,
        reason=_text(getattr(result, "reason", None)),
        spent=PassSpent(
            summary_input_tokens=_tokens(usage, "input_tokens"),
            summary_output_tokens=_tokens(usage, "output_tokens"),
        ),
        summary=None if summary is None else lambda: summary,
        outcome=outcome if outcome in names.PASS_OUTCOMES else None,
        sizes=_sizes(result),
    )


def _sizes(result: Any) -> tuple[Size, Size] | None:
    """Return the sizes before and after that the result itself tells, if it does."""
    told = getattr(result, "sizes", None)
    before = _tokens(told, "request_before") or _tokens(result, "tokens_before")
    after = _tokens(told, "request_after") or _tokens(result, "tokens_after")
    if before is None or after is None:
        return None
    source = _text(getattr(told, "source", None))
    return Size(before, None, source), Size(after, len(view_of(result)), source)


# --- what a policy is asked about itself ---


def _measure(subject: Any, said: Observation, ctx: Any = None) -> Measure:
    """Return how to measure: by the caller's counter, by the policy's own, or by bytes."""
    if said.counter is not None:
        return size_by(said.counter)
    if is_request(ctx):
        return measure_for(ctx)
    counter = getattr(subject, "token_counter", None)
    for count in (counter, *(getattr(counter, name, None) for name in ("entries", "count"))):
        if callable(count):
            return size_by(count, _text(getattr(counter, "source", None)) or names.SOURCE_TOKENIZER)
    return size_from_bytes


def _window(policy: Any) -> int | None:
    for name in ("context_window_tokens", "context_window"):
        window = getattr(policy, name, None)
        if isinstance(window, int) and not isinstance(window, bool):
            return window
    return None


def _text(value: Any) -> str | None:
    """Return a text, or the name of an object that has one."""
    value = getattr(value, "name", value)
    return value if isinstance(value, str) else None


def _tokens(holder: Any, name: str) -> int | None:
    value = getattr(holder, name, None)
    return value if isinstance(value, int) else None


def _marked(function: Any) -> Any:
    function.__lovia_observed__ = True
    return function
