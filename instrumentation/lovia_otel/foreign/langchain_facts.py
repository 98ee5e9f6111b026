"""What the middleware of LangChain and their models tell of themselves."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from lovia_otel import names
from lovia_otel.foreign.passes import PassAbout
from lovia_otel.foreign.sizes import Measure, size_by, size_from_bytes
from lovia_otel.foreign.twins import quietly

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lovia_otel.observe import Counter, Observation

APPROXIMATE: Final = "count_tokens_approximately"  # LangChain's counter that divides characters
_NOTHING: Final[Mapping[str, Any]] = {}


def counter_of(middleware: Any, said: Observation) -> Counter | None:
    """Return what counts for a middleware: what was said, else its own ``token_counter``."""
    return said.counter or getattr(middleware, "token_counter", None)


def measure_by(counter: Counter | None) -> Measure:
    """Return the measure that asks this counter, or the bytes where there is none."""
    return size_from_bytes if counter is None else size_by(counter, source_of(counter))


def source_of(counter: Any) -> str:
    """Say who counts: LangChain's approximation divides characters, as an estimate from bytes."""
    named = getattr(counter, "func", counter)  # of a partial
    approximate = getattr(named, "__name__", "") == APPROXIMATE
    return names.SOURCE_BYTES if approximate else names.SOURCE_TOKENIZER


def about_call(middleware: Any, said: Observation, *, model: Any, **known: Any) -> PassAbout:
    """Return what is known of a pass in a LangChain agent: its agent, thread, model and window."""
    config = _config()
    agent = said.agent or (config.get("metadata") or {}).get("lc_agent_name")
    thread = (config.get("configurable") or {}).get("thread_id")
    facts = _model_facts(model)
    return PassAbout(
        policy=said.name or middleware.name,
        agent=None if agent is None else str(agent),
        session_id=None if thread is None else str(thread),
        model=facts.get("ls_model_name"),
        provider=facts.get("ls_provider"),
        window_tokens=window_of(model, said),
        **known,
    )


@quietly(None)
def window_of(model: Any, said: Observation) -> int | None:
    """Return the model's window in tokens, from what was said or from the model's profile."""
    profile = getattr(model, "profile", None) or {}
    return said.window_tokens or profile.get("max_input_tokens")


@quietly(names.TRIGGER_THRESHOLD)
def trigger_of(trigger: Any) -> str:
    """Return why middleware with this ``trigger`` setting acts: for messages alone, or tokens."""
    clauses = trigger if isinstance(trigger, list) else [trigger]
    kinds = {
        kind
        for clause in clauses
        if clause
        for kind in (clause if isinstance(clause, dict) else clause[:1])
    }
    return names.TRIGGER_ENTRIES if kinds == {"messages"} else names.TRIGGER_THRESHOLD


@quietly(None)
def target_of(keep: Any, window: int | None) -> int | None:
    """Return the tokens that middleware with this ``keep`` setting keeps, if it says so."""
    kind, value = keep
    if kind == "tokens":
        return int(value)
    return int(value * window) if kind == "fraction" and window else None


@quietly(_NOTHING)
def _config() -> Mapping[str, Any]:
    """Return the configuration of the graph that runs here; empty outside of any."""
    module = sys.modules.get("langgraph.config")
    try:
        return {} if module is None else module.get_config()
    except RuntimeError:  # called outside of a graph
        return {}


@quietly(_NOTHING)
def _model_facts(model: Any) -> Mapping[str, Any]:
    """Return what a model tells LangChain's own tracing of itself: its name and provider."""
    facts: Mapping[str, Any] = model._get_ls_params()  # noqa: SLF001 - its only such method
    return facts
