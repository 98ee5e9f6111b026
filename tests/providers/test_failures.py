"""Tests of what a vendor's errors become: what to say, whether to try again, and when."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anthropic
import httpx2 as httpx
import openai
import pytest

from lovia.errors import ContextOverflowError, ProviderError, UserError
from lovia.providers.failures import cut_stream, failure_of, reported_failure, whole_answer

SDKS = [openai, anthropic]
NAMES: dict[str, Any] = {"vendor": "v", "model": "m"}


def refused(sdk: Any, status: int, body: Any = None, headers: Any = None) -> ProviderError:
    """Return what becomes of an answer with this status, as the SDK raises it."""
    request = httpx.Request("POST", "http://test/v1")
    response = httpx.Response(status, json=body, headers=headers, request=request)
    error = sdk.APIStatusError("Error code", response=response, body=body)
    found = failure_of(error, sdk, **NAMES)
    assert isinstance(found, ProviderError)
    return found


def in_a_stream(**error: Any) -> ProviderError:
    """Return what becomes of an error that is reported where no status tells its kind."""
    return reported_failure("it failed", body={"type": "error", "error": error}, **NAMES)


@pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.__name__)
@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        *((status, False) for status in (400, 401, 402, 403, 404, 413, 422)),
        *((status, True) for status in (408, 409, 425, 429, 500, 502, 503, 504, 529)),
    ],
)
def test_a_status_tells_whether_to_try_again(sdk: Any, status: int, retryable: bool) -> None:
    """What the account or the request is to blame for stays so; the rest may pass."""
    if status == 413:
        assert isinstance(refused(sdk, status), ContextOverflowError)
        return
    error = refused(sdk, status, {"error": {"message": "no"}})
    assert (error.status_code, error.retryable) == (status, retryable)
    assert f"{status}: no" in error.message


@pytest.mark.parametrize(
    ("kind", "status", "retryable"),
    [
        ("invalid_request_error", 400, False),
        ("invalid_prompt", 400, False),
        ("authentication_error", 401, False),
        ("permission_error", 403, False),
        ("not_found_error", 404, False),
        ("rate_limit_error", 429, True),
        ("rate_limit_exceeded", 429, True),
        ("api_error", 500, True),
        ("server_error", 500, True),
        ("internal_error", 500, True),
        ("timeout_error", 504, True),
        ("overloaded_error", 529, True),
        ("something_new", None, True),
    ],
)
@pytest.mark.parametrize("field", ["type", "code"])
def test_in_a_stream_the_kind_does(
    field: str, kind: str, status: int | None, retryable: bool
) -> None:
    """There the answer had the status of success, and the vendor's word says what happened."""
    error = in_a_stream(**{field: kind, "message": "it failed"})
    assert (error.status_code, error.retryable) == (status, retryable)


@pytest.mark.parametrize(
    ("code", "status", "retryable"), [("503", 503, True), (404, 404, False), (12345, None, True)]
)
def test_a_code_may_be_a_status(code: Any, status: int | None, retryable: bool) -> None:
    """As text or as a number; a longer one is none."""
    error = in_a_stream(code=code, message="it failed")
    assert (error.status_code, error.retryable) == (status, retryable)


def test_the_word_that_is_known_counts() -> None:
    """A code that nobody knows does not hide a type that everybody does."""
    error = in_a_stream(code="e_17", type="overloaded_error")
    assert error.status_code == 529


@pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.__name__)
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_a_wait_that_is_asked_for_is_told(sdk: Any, headers: Any, seconds: float | None) -> None:
    """In seconds, the finer header first; what is no number of them is not there."""
    assert refused(sdk, 429, headers=headers).retry_after == seconds


@pytest.mark.parametrize("minutes", [-10, 10])
def test_a_wait_may_be_a_date(minutes: int) -> None:
    """One that is over is no wait."""
    date = datetime.now(UTC) + timedelta(minutes=minutes)
    wait = refused(openai, 429, headers={"retry-after": format_datetime(date)}).retry_after
    assert wait is not None
    assert wait == 0.0 if minutes < 0 else 0.0 < wait <= 601.0


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "the words"}},
        {"message": "the words"},
        {"error": "the words"},
        [{"error": {"message": "the words"}}],
    ],
    ids=["nested", "flat", "text", "list"],
)
def test_the_vendor_s_own_words_are_found(body: Any) -> None:
    """In each form in which servers send them, also where a stream was expected."""
    assert "400: the words" in refused(openai, 400, body).message
    assert "the words" in whole_answer(json.dumps(body), **NAMES).message


def test_an_answer_that_is_no_stream_is_shown() -> None:
    """A page of a proxy says so, with a hint about the address, and is not tried again."""
    error = whole_answer("<html>" + "x" * 9_000, **NAMES)
    assert "no stream: <html>xxx" in error.message
    assert len(error.message) < 2_100
    assert "base_url" in (error.hint or "")
    assert not error.retryable


def test_a_broken_connection_may_be_tried_again() -> None:
    """Whichever layer says it; what is nobody's of these is handed on."""
    request = httpx.Request("POST", "http://test/v1")
    sdk_s = openai.APIConnectionError(request=request)
    sdk_s.__cause__ = httpx.ConnectError("refused")
    broken = [sdk_s, httpx.ReadError("cut"), ConnectionResetError("reset"), EOFError()]
    for error in (*broken, json.JSONDecodeError("no", "", 0)):
        found = failure_of(error, openai, **NAMES)
        assert isinstance(found, ProviderError)
        assert found.retryable
    assert "ConnectError: refused" in str(failure_of(sdk_s, openai, **NAMES))
    assert cut_stream("v", "m").retryable
    own = KeyError("x")
    assert failure_of(own, openai, **NAMES) is own


def test_missing_credentials_are_the_user_s_to_mend() -> None:
    """The SDKs have an error of their own for that."""
    found = failure_of(openai.OpenAIError("Missing credentials."), openai, **NAMES)
    assert isinstance(found, UserError)


@pytest.mark.parametrize("status", [401, 402, 403, 404, 429])
def test_some_statuses_have_a_hint(status: int) -> None:
    """What to look at is said."""
    assert refused(openai, status, {"error": {"message": "no"}}).hint
