"""What went wrong between us and a model, as lovia's errors.

The two SDKs name their errors alike and give them the same fields; what they let through from below
are errors of the HTTP library and of reading JSON.
"""

from __future__ import annotations

import json
import math
import re
from email.utils import parsedate_to_datetime
from time import time
from typing import TYPE_CHECKING, Any, Final

from lovia.errors import ContextOverflowError, ProviderError, UserError
from lovia.providers.overflow import overflow_of
from lovia.transcript.text import clean_text

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["cut_stream", "failure_of", "reported_failure", "whole_answer"]

# What vendors call an error that comes inside a stream, where no status tells its kind.
_STATUS_OF_KIND: Final = {
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "internal_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_HINTS: Final = {
    401: "Check the API key.",
    402: "Check the account's balance.",
    403: "Check what the API key may do.",
    404: "Check the model's name and base_url.",
    413: "Make the request smaller.",
    429: "Wait, or raise the account's limits.",
}
_OK: Final = 200
_FIRST_SERVER_ERROR: Final = 500
_TRANSIENT: Final = frozenset({408, 409, 425, 429})
_SHOWN: Final = 2_000  # characters of a vendor's message that are kept
# How the SDKs say that they have found none.
_CREDENTIALS: Final = re.compile(r"credential|authentication method|api_key client", re.IGNORECASE)
_HTTP_LIBRARIES: Final = frozenset({"httpx", "httpx2", "httpcore", "httpcore2", "h11", "anyio"})


def failure_of(error: Exception, sdk: ModuleType, *, vendor: str, model: str) -> Exception:
    """Return the error to raise in place of one that an SDK raised.

    Args:
        error: What was raised.
        sdk: The SDK's module.
        vendor: The provider's short name.
        model: The model that was asked.

    Returns:
        A :class:`~lovia.errors.ProviderError`, a :class:`~lovia.errors.UserError` for missing
        credentials, or the error itself when it is none of the vendor's.
    """
    if isinstance(error, sdk.APIConnectionError) or _is_transport_error(error):
        message = f"The connection to {vendor} failed: {_said(error)}"
        return ProviderError(message, retryable=True, vendor=vendor, model=model)
    if isinstance(error, sdk.APIError):
        headers = getattr(getattr(error, "response", None), "headers", None)
        return reported_failure(
            _said(error),
            status=_status(error),
            body=error.body,
            retry_after=_retry_after(headers),
            vendor=vendor,
            model=model,
        )
    if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):
        message = f"{vendor} sent something that is no answer: {_said(error)}"
        return ProviderError(message, retryable=True, vendor=vendor, model=model)
    if _is_about_credentials(error):
        hint = "Set the vendor's API key in the environment, or pass api_key=..."
        return UserError(f"There are no credentials for {vendor}: {_said(error)}", hint=hint)
    return error


def reported_failure(
    message: str,
    *,
    vendor: str,
    model: str,
    status: int | None = None,
    body: Any = None,
    retry_after: float | None = None,
) -> ProviderError:
    """Return the error for what a vendor reported, with a status or inside a stream."""
    overflow = overflow_of(message, status=status, body=body)
    shown = clean_text(message)[:_SHOWN]
    if overflow is not None:
        return ContextOverflowError(
            shown, reported_window=overflow.window, status_code=status, vendor=vendor, model=model
        )
    kind = _kind(body)
    if status in (None, _OK):
        status = _STATUS_OF_KIND.get(kind) or _numeric_code(body)
    # A stream that breaks off for a reason that nobody names may well succeed the next time.
    retryable = status is None or status in _TRANSIENT or status >= _FIRST_SERVER_ERROR
    return ProviderError(
        f"{vendor} answered with an error{f' {status}' if status else ''}: {shown}",
        hint=_HINTS.get(status or 0),
        status_code=status,
        retryable=retryable,
        retry_after=retry_after,
        vendor=vendor,
        model=model,
    )


def cut_stream(vendor: str, model: str) -> ProviderError:
    """Return the error for an answer that ended before the vendor said that it had ended."""
    message = f"{vendor} ended the stream in the middle of the answer."
    return ProviderError(message, retryable=True, vendor=vendor, model=model)


def whole_answer(text: str, *, vendor: str, model: str) -> ProviderError:
    """Return the error for an answer that came in one piece though a stream was asked for."""
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    message = _message(body)
    if message is not None:
        return reported_failure(message, vendor=vendor, model=model, body=body)
    shown = clean_text(text)[:_SHOWN]
    hint = "Check base_url: it has to be the address of a server that streams this protocol."
    message = f"{vendor} answered with something that is no stream: {shown}"
    return ProviderError(message, hint=hint, vendor=vendor, model=model)


def _said(error: Exception) -> str:
    """Return the vendor's own words, without the SDK's around them."""
    message = _message(getattr(error, "body", None))
    if message is not None:
        return message
    text = str(error) or type(error).__name__
    cause = error.__cause__
    return f"{text} ({type(cause).__name__}: {cause})" if cause is not None else text


def _message(body: Any) -> str | None:
    """Return the message in an error's JSON; some vendors nest it, some send a list of one."""
    if isinstance(body, list) and body:
        body = body[0]
    for holder in (body.get("error") if isinstance(body, dict) else None, body):
        if isinstance(holder, dict) and isinstance(holder.get("message"), str):
            return str(holder["message"])
        if isinstance(holder, str) and holder and holder is not body:
            return holder
    return None


def _status(error: Any) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _kind(body: Any) -> str:
    """Return the name that the vendor gives to the kind of error."""
    inner = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(inner, dict):
        return ""
    names = [str(inner.get(key) or "") for key in ("code", "type")]
    return next((name for name in names if name in _STATUS_OF_KIND), names[0])


def _numeric_code(body: Any) -> int | None:
    code = _kind(body)
    return int(code) if code.isdigit() and len(code) == 3 else None  # noqa: PLR2004 - an HTTP status


def _retry_after(headers: Any) -> float | None:
    """Return the seconds that a vendor asks to wait (RFC 9110: seconds or a date)."""
    if headers is None:
        return None
    for name, unit in (("retry-after-ms", 1_000.0), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) / unit
        except ValueError:
            seconds = _seconds_until(text)
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    return None


def _seconds_until(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() - time()
    except (ValueError, TypeError):
        return math.nan


def _is_transport_error(error: Exception) -> bool:
    """Tell an error of the connection, whichever HTTP library the SDK brings."""
    return isinstance(error, (OSError, EOFError)) or any(
        base.__module__.partition(".")[0] in _HTTP_LIBRARIES for base in type(error).__mro__
    )


def _is_about_credentials(error: Exception) -> bool:
    return _CREDENTIALS.search(f"{type(error).__name__} {error}") is not None
