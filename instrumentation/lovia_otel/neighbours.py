"""Other instrumentations of the model call that has a ``chat`` span here, and how they stay out.

Our span says more (sizes, purpose, what compaction saved), so the others are told that the call is
recorded already: by what the context holds, each in its own way, and where a client's method is
wrapped by one that does not look there, by calling what it wraps. They record all other calls as
before. None of them is imported: one that is at work is loaded already.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context as otel_context

from lovia_otel import providers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opentelemetry.context import Context

# The GenAI conventions: what an inner instrumentation finds out goes into the data of the outer.
_GENAI: Final = "opentelemetry.util.genai.invocation"
_GENAI_NAMES: Final = ("CLIENT_INFERENCE_CONTEXT_KEY", "InferenceData")
# OpenLLMetry: a key that silences instrumentations of models and leaves HTTP alone.
_OPENLLMETRY: Final = "opentelemetry.semconv_ai"
_OPENLLMETRY_KEY: Final = "suppress_language_model_instrumentation"
# OpenInference: it knows the key alone that silences every instrumentation, HTTP included.
_OPENINFERENCE: Final = "openinference.instrumentation"

_INSTRUMENTATIONS: Final = "opentelemetry.instrumentation."  # where OpenTelemetry's own live


def claimed(context: Context | None) -> Context | None:
    """Return a context in which the model call counts as recorded; ``None``: the current one."""
    genai = sys.modules.get(_GENAI)
    key, data = (getattr(genai, name, None) for name in _GENAI_NAMES)
    if key is not None and data is not None:
        context = otel_context.set_value(key, data(), context)
    if _OPENLLMETRY in sys.modules:
        context = otel_context.set_value(_OPENLLMETRY_KEY, value=True, context=context)
    everything = getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", None)
    if _OPENINFERENCE in sys.modules and everything is not None:
        context = otel_context.set_value(everything, value=True, context=context)
    return context


@contextmanager
def silenced() -> Iterator[None]:
    """Have all model calls inside the ``with`` block count as recorded."""
    token = otel_context.attach(claimed(None) or otel_context.get_current())
    try:
        yield
    finally:
        otel_context.detach(token)


def unobserved(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a client's method without the OpenTelemetry instrumentations that are around it.

    Where nothing is recorded here, it comes back as it is. So does what is below a wrapper of
    somebody else's.
    """
    if not providers.recording():
        return method
    while True:
        wrapper = getattr(method, "_self_wrapper", None)  # wrapt's, which they all use
        inner = getattr(method, "__wrapped__", None)
        if inner is None or not _is_from_instrumentation(wrapper):
            return method
        method = inner


def is_one(listener: object) -> bool:
    """Does this object, which hears of a framework's model calls, belong to an instrumentation?"""
    return _is_from_instrumentation(type(listener))


def _is_from_instrumentation(thing: object) -> bool:
    return str(getattr(thing, "__module__", None)).startswith(_INSTRUMENTATIONS)
