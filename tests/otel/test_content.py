"""Content leaves only where it may, redacted and bounded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lovia_otel import CaptureMode, chat_scope, names, pass_scope, tool_scope
from lovia_otel.content import (
    MAX_CONTENT,
    MAX_LEAF,
    ContentSettings,
    capture_mode,
    emits_details,
    parse_mode,
    set_content,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.otel.conftest import Telemetry

MESSAGES = [{"role": "user", "parts": [{"type": "text", "content": "my secret"}]}]


@pytest.fixture
def settings() -> Iterator[None]:
    """Restore the content settings after the test."""
    before = set_content(ContentSettings())
    yield
    set_content(before)


def converse() -> None:
    """Make a model call that offers content of every kind."""
    with chat_scope(provider="p", model="m", purpose="turn", agent=None) as chat:
        chat.content(
            input_messages=lambda: MESSAGES,
            output_messages=lambda: "the secret answer",
            system_instructions=lambda: "secret rules",
        )


@pytest.mark.parametrize(
    ("mode", "on_span", "on_event"),
    [
        (None, False, False),
        ("NO_CONTENT", False, False),
        ("SPAN_ONLY", True, False),
        ("EVENT_ONLY", False, True),
        ("SPAN_AND_EVENT", True, True),
        ("span_only", True, False),
        ("everything", False, False),
    ],
)
def test_content_leaves_where_the_mode_lets_it(
    telemetry: Telemetry,
    monkeypatch: pytest.MonkeyPatch,
    mode: str | None,
    on_span: bool,
    on_event: bool,
) -> None:
    """Spans and events hold content exactly when the shared variable says so; junk means never."""
    if mode is not None:
        monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, mode)
    converse()
    attributes = telemetry.attributes("chat m")
    assert (names.INPUT_MESSAGES in attributes) == on_span
    assert ("secret" in repr(attributes)) == on_span
    event = telemetry.events.get(names.EVENT_INFERENCE_DETAILS)
    assert (event is not None) == on_event
    assert ("secret" in repr(event and event.attributes)) == on_event


def test_spans_hold_json_and_events_hold_structure(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages are a JSON text on a span, as it can hold no structure, and structured elsewhere."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, "SPAN_AND_EVENT")
    converse()
    assert json.loads(telemetry.attributes("chat m")[names.INPUT_MESSAGES]) == MESSAGES
    attributes = dict(telemetry.events[names.EVENT_INFERENCE_DETAILS].attributes or {})
    (message,) = attributes[names.INPUT_MESSAGES]  # type: ignore[misc]
    assert message["role"] == "user"  # type: ignore[call-overload,index]


def test_nothing_is_built_while_capture_is_off(telemetry: Telemetry) -> None:
    """The callables are not called."""

    def build() -> str:
        raise AssertionError("built")

    with tool_scope(tool="t", call_id=None, agent=None) as tool:
        tool.content(tool_arguments=build, tool_result=build, summary=build)
    assert telemetry.total(names.METRIC_DROPPED_EVENTS) == 0


def test_only_what_can_hold_content_builds_it(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool call has no event of its own, so content for events alone is not built for it."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, "EVENT_ONLY")
    built: list[str] = []
    with tool_scope(tool="t", call_id=None, agent=None) as tool:
        tool.content(tool_result=lambda: built.append("x"))
    assert built == []


def test_each_kind_of_content_has_its_attribute(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arguments, results and summaries stand under their own names."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, "SPAN_ONLY")
    with tool_scope(tool="t", call_id=None, agent=None) as tool:
        tool.content(tool_arguments=lambda: {"q": 1}, tool_result=lambda: "found")
    with pass_scope(policy="p", trigger="manual", pass_id="1") as scope:
        scope.content(summary=lambda: "they talked")
    attributes = telemetry.attributes("execute_tool t")
    assert attributes[names.TOOL_CALL_ARGUMENTS] == '{"q": 1}'
    assert attributes[names.TOOL_CALL_RESULT] == "found"
    assert telemetry.attributes("compact_context")[names.SUMMARY_TEXT] == "they talked"


@pytest.mark.usefixtures("settings")
def test_the_redaction_hook_sees_every_text(telemetry: Telemetry) -> None:
    """However deep a text lies, what leaves is what the hook returned."""
    redact = lambda text: text.replace("secret", "[…]")  # noqa: E731 - as a user writes it
    set_content(ContentSettings(CaptureMode.SPAN_AND_EVENT, redact))
    converse()
    with pytest.raises(ValueError, match="secret"), tool_scope(tool="t", call_id=None, agent=None):
        raise ValueError("secret")
    exported = repr([telemetry.attributes("chat m"), telemetry.events])
    assert "[…]" in exported
    assert "secret" not in exported
    assert telemetry.spans["execute_tool t"].status.description == "[…]"


@pytest.mark.usefixtures("settings")
def test_a_hook_that_fails_lets_nothing_out(telemetry: Telemetry) -> None:
    """What cannot be redacted is not exported; the span is, and the loss is counted."""

    def redact(text: str) -> str:
        raise RuntimeError(text)

    set_content(ContentSettings(CaptureMode.SPAN_AND_EVENT, redact))
    converse()
    assert "secret" not in repr([telemetry.attributes("chat m"), telemetry.events])
    assert telemetry.total(names.METRIC_DROPPED_EVENTS) == 3


def test_content_is_bounded_and_encodable(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Megabytes are cut, text by text and as a whole, and bytes are named, not shown."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, "SPAN_ONLY")
    with chat_scope(provider="p", model="m", purpose="turn", agent=None) as chat:
        chat.content(
            input_messages=lambda: ["x" * 1_000_000],
            output_messages=lambda: ["y" * MAX_LEAF] * 100,
            system_instructions=lambda: {"k\ud800": ["\ud800", b"\x00\x01", None, 1.5, True]},
        )
    attributes = telemetry.attributes("chat m")
    assert len(json.loads(attributes[names.INPUT_MESSAGES])[0]) == MAX_LEAF
    assert len(attributes[names.OUTPUT_MESSAGES]) == MAX_CONTENT
    shown = json.loads(attributes[names.SYSTEM_INSTRUCTIONS])
    assert shown == {"k?": ["?", "<2 bytes>", None, 1.5, True]}


@pytest.mark.usefixtures("settings")
def test_a_chosen_mode_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an application chose stands, whatever the variable says."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, "SPAN_AND_EVENT")
    assert capture_mode() is CaptureMode.SPAN_AND_EVENT
    set_content(ContentSettings(CaptureMode.NO_CONTENT))
    assert capture_mode() is CaptureMode.NO_CONTENT


@pytest.mark.parametrize(
    ("mode", "flag", "emits"),
    [
        ("NO_CONTENT", "", False),
        ("SPAN_ONLY", "", False),
        ("EVENT_ONLY", "", True),
        ("NO_CONTENT", "TRUE", True),
        ("EVENT_ONLY", "false", False),
        ("EVENT_ONLY", "maybe", True),
    ],
)
def test_details_follow_content_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, mode: str, flag: str, emits: bool
) -> None:
    """The event of a model call is emitted when it carries content, or when it is asked for."""
    monkeypatch.setenv(names.ENV_CAPTURE_CONTENT, mode)
    monkeypatch.setenv(names.ENV_EMIT_EVENT, flag)
    assert emits_details() == emits


def test_an_unknown_mode_is_refused_by_name() -> None:
    """The message lists the modes that there are."""
    with pytest.raises(ValueError, match="SPAN_AND_EVENT"):
        parse_mode("everything")
