"""Content capture: whether prompts, answers, summaries and tool data may leave, and in what form.

Off by default. The mode comes from ``configure`` or from the environment variables that all GenAI
instrumentations share; whatever does leave has passed the redaction hook and is bounded.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from lovia_otel import names
from lovia_otel.facts import clean_text

if TYPE_CHECKING:
    from opentelemetry.util.types import AnyValue

Redactor = Callable[[str], str]
Content = Callable[[], object]  # builds the content, so that nothing is built while capture is off

MAX_LEAF: Final = 8_192  # characters of one text inside a message
MAX_CONTENT: Final = 131_072  # characters of one span attribute; a longer one is cut

_log = logging.getLogger("lovia_otel")


class CaptureMode(StrEnum):
    """Where content may go. The names are those of the shared environment variable."""

    NO_CONTENT = "NO_CONTENT"
    SPAN_ONLY = "SPAN_ONLY"
    EVENT_ONLY = "EVENT_ONLY"
    SPAN_AND_EVENT = "SPAN_AND_EVENT"

    @property
    def on_spans(self) -> bool:
        """May content become span attributes?"""
        return self in {CaptureMode.SPAN_ONLY, CaptureMode.SPAN_AND_EVENT}

    @property
    def on_events(self) -> bool:
        """May content become part of log events?"""
        return self in {CaptureMode.EVENT_ONLY, CaptureMode.SPAN_AND_EVENT}


@dataclass(frozen=True)
class ContentSettings:
    """What an application chose: ``mode`` (``None``: ask the environment) and the redaction hook.

    ``redact`` receives every single text, however deep inside a message, and returns what may be
    exported in its place. Where it raises, that piece of content is not exported at all.
    """

    mode: CaptureMode | None = None
    redact: Redactor | None = None


class _Current:
    def __init__(self) -> None:
        self.settings = ContentSettings()


_current = _Current()


def set_content(settings: ContentSettings) -> ContentSettings:
    """Use ``settings`` from now on, in every thread, and return those that were in force."""
    previous = _current.settings
    _current.settings = settings
    return previous


def restore_content(mine: ContentSettings, previous: ContentSettings) -> None:
    """Put ``previous`` back in force, unless somebody else has replaced ``mine`` since."""
    if _current.settings is mine:
        _current.settings = previous


def capture_mode() -> CaptureMode:
    """Return where content may go now. An unknown value in the environment captures nothing."""
    chosen = _current.settings.mode
    return chosen if chosen is not None else _mode_from_environment()


def emits_details() -> bool:
    """Should each model call emit its details as an event? By default when those carry content."""
    flag = os.environ.get(names.ENV_EMIT_EVENT, "").strip().lower()
    return flag == "true" if flag in {"true", "false"} else capture_mode().on_events


def parse_mode(text: str) -> CaptureMode:
    """Return the mode called ``text``, in any case.

    Raises:
        ValueError: there is no such mode; the message lists those that there are.
    """
    try:
        return CaptureMode(text.strip().upper())
    except ValueError:
        known = ", ".join(CaptureMode)
        raise ValueError(f"unknown content capture mode {text!r}; use one of {known}") from None


def exported(content: Content) -> AnyValue:
    """Build a piece of content and return it redacted, encodable and bounded, as plain JSON data.

    Raises whatever building or redacting it raises: the caller then exports nothing.
    """
    return _leaves(content(), _current.settings.redact)


def as_attribute(value: AnyValue) -> str:
    """Return exported content as the text of a span attribute: JSON, or a text as it is."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clean_text(text, MAX_CONTENT)


def message_of(error: BaseException) -> str | None:
    """Return an exception's text where spans may hold content: it often quotes a prompt."""
    if not capture_mode().on_spans:
        return None
    return as_attribute(exported(lambda: str(error)))


def _leaves(value: object, redact: Redactor | None) -> AnyValue:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, bytes | bytearray):
        return f"<{len(value)} bytes>"
    if isinstance(value, Mapping):
        return {clean_text(str(key)): _leaves(item, redact) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_leaves(item, redact) for item in value]
    text = str(value)
    return clean_text(redact(text) if redact is not None else text, MAX_LEAF)


def _mode_from_environment() -> CaptureMode:
    text = os.environ.get(names.ENV_CAPTURE_CONTENT)
    if not text:
        return CaptureMode.NO_CONTENT
    try:
        return parse_mode(text)
    except ValueError as unknown:
        _log.debug("%s: %s", names.ENV_CAPTURE_CONTENT, unknown)
        return CaptureMode.NO_CONTENT
