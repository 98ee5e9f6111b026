"""A request's body, and what a user adds to it by ``ModelSettings.provider_options``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lovia.transcript.text import clean_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lovia.providers.base import ModelSettings

__all__ = ["request_arguments"]

# What an SDK takes beside the body.
_TRANSPORT: Final = ("extra_headers", "extra_query", "timeout")


def request_arguments(
    body: Mapping[str, Any],
    settings: ModelSettings,
    *,
    extra_body: Mapping[str, Any],
    names: Iterable[str],
    typed: Iterable[str],
    bulk: str,
) -> dict[str, Any]:
    """Return the keyword arguments of an SDK's ``create`` for a request.

    Options are laid over the body: objects are joined, anything else replaces what was there, and
    ``None`` takes a field out. Only the fields in ``typed`` are given by name; the rest travels as
    ``extra_body``, so that fields which the installed SDK does not know yet reach the vendor.

    Args:
        body: The request as the adapter made it.
        settings: Holds the options, by provider name.
        extra_body: The provider's own fields; laid over the body before the options.
        names: The names whose options count, least specific first.
        typed: The short fields that the SDK requires as arguments.
        bulk: The required field that is as long as the conversation. The SDK is given an empty list
            for it and the real one in ``extra_body``, since it would walk through every value of an
            argument, on the event loop.
    """
    arguments: dict[str, Any] = {}
    whole = _laid_over(body, extra_body)
    for name in dict.fromkeys(names):
        options = dict(settings.provider_options.get(name, {}))
        arguments |= {key: options.pop(key) for key in _TRANSPORT if key in options}
        whole = _laid_over(whole, options.pop("extra_body", {}))
        whole = _laid_over(whole, options)
    # Schemas and options are text that somebody wrote elsewhere; the conversation encodes already.
    whole = {key: value if key == bulk else clean_value(value) for key, value in whole.items()}
    arguments |= {key: whole.pop(key) for key in typed if key in whole}
    return {**arguments, bulk: [], "extra_body": whole}


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    joined = dict(below)
    for key, value in above.items():
        old = joined.get(key)
        if value is None:
            joined.pop(key, None)
        elif isinstance(old, dict) and isinstance(value, dict):
            joined[key] = _laid_over(old, value)
        else:
            joined[key] = value
    return joined
