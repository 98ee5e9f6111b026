"""Tests of the messages that entries become."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lovia.providers.wire.conversation import (
    Call,
    Conversation,
    InputMessage,
    Instruction,
    ModelMessage,
    as_content,
    conversation_of,
)
from lovia.providers.wire.names import CallIds
from lovia.transcript import (
    ImagePart,
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolResultEntry,
    TranscriptEntry,
)
from tests.notation import A, C, R, S, T, U

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PICTURE = ImagePart(data="aGk=", mime_type="image/png")


def arranged(
    *entries: TranscriptEntry, owns: Callable[[ReasoningEntry], bool] = lambda _: True
) -> Conversation:
    """Arrange entries for a vendor that takes short ids."""
    return conversation_of(entries, ids=CallIds(r"[a-z0-9_]{1,40}"), owns=owns)


def shape(conversation: Conversation) -> list[str]:
    """Return each message as a letter for its speaker and what it holds."""
    told = []
    for message in conversation.messages:
        if isinstance(message, InputMessage):
            told.append("U:" + "|".join(getattr(p, "text", p.type) for p in as_content(message)))
        else:
            items = (i.id if isinstance(i, Call) else i.content for i in message.items)
            told.append("A:" + "|".join(items))
    return told


def calls(conversation: Conversation) -> list[tuple[str, str]]:
    """Return the id and the output of every call."""
    return [
        (call.id, call.output)
        for message in conversation.messages
        if isinstance(message, ModelMessage)
        for call in message.calls
    ]


def test_leading_system_messages_are_no_messages() -> None:
    """The leading block becomes the system prompt, blank ones left out; the rest is told apart."""
    made = arranged(S("one"), InputEntry("developer", "two"), S(" "), U("hi"), S("later"), A(), U())
    assert made.system == ("one", "two")
    assert isinstance(made.messages[0], InputMessage)
    assert made.messages[0].parts == (TextPart("hi"), Instruction("system", "later"))
    assert shape(made)[0] == "U:hi|[System message]\n\nlater"


def test_neighbours_of_one_speaker_are_one_message() -> None:
    """A summary and the next user message are one message, and so are two answers in a row."""
    summary = InputEntry("user", "what was", origin="summary")
    assert shape(arranged(summary, U("now"), A("a"), A("b"), U("c"))) == [
        "U:what was|now",
        "A:a|b",
        "U:c",
    ]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([U("q"), C("a"), C("b"), T("b", "2"), T("a", "1"), U("x")], [("a", "1"), ("b", "2")]),
        ([U("q"), C("a"), C("b"), T("a", "1"), A("hm"), T("b", "2")], [("a", "1"), ("b", "2")]),
        ([U("q"), C("a"), U("well?"), T("a", "late"), U("x")], [("a", "late")]),
        ([U("q"), C("a"), U("x")], [("a", "no result was recorded")]),
        ([U("q"), C("a"), T("a", ""), U("x")], [("a", "(no output)")]),
        ([U("q"), C("a"), T("a", "1"), C("b"), T("b", "2")], [("a", "1"), ("b", "2")]),
    ],
)
def test_results_stand_with_their_calls(
    entries: Sequence[TranscriptEntry], expected: list[tuple[str, str]]
) -> None:
    """A result goes to its call, however late it came; a call without one gets a placeholder."""
    assert calls(arranged(*entries)) == expected


def test_a_batch_that_was_answered_ends_its_message() -> None:
    """What the model says after results is another message than the one with the calls."""
    made = arranged(
        U("q"), A("let me"), C("a"), T("a"), A("so"), C("b"), T("b"), A("done"), U("ok")
    )
    assert shape(made) == ["U:q", "A:let me|a", "A:so|b", "A:done", "U:ok"]


def test_repeated_ids_are_told_apart_per_pair() -> None:
    """Of several calls with one id the first keeps it, and each keeps its own result."""
    first, second = calls(arranged(U(), C("a"), T("a", "1"), C("a"), T("a", "2")))
    assert first == ("a", "1")
    assert second[0] != "a"
    assert second[1] == "2"


def test_ids_do_not_change_as_a_conversation_grows() -> None:
    """The prefix of a longer conversation has the same ids, so that a prompt cache serves it."""
    long = "A long id! " * 9
    entries: list[TranscriptEntry] = [U(), C(long), T(long), C("a"), T("a"), C("a"), T("a")]
    before = calls(arranged(*entries))
    assert calls(arranged(*entries, U("more"), C("a"), T("a")))[:3] == before


def test_a_result_without_a_call_is_told_as_text() -> None:
    """An orphan is no result on any wire, but what it says is not lost."""
    assert "the answer" in shape(arranged(U("q"), T("nobody", "the answer"), U("x")))[0]


def test_nothing_is_empty() -> None:
    """Blank answers vanish, blank messages of users say so, and what they stood between joins."""
    assert shape(arranged(U("q"), A(" "), U("r"), U(""))) == ["U:q|r"]
    assert shape(arranged(U(""))) == ["U:(empty message)"]
    assert shape(arranged(InputEntry("user", []), A("hm"), U("x")))[0] == (
        "U:[Earlier messages are not shown.]"
    )


def test_thoughts_that_led_to_nothing_are_left_out() -> None:
    """A thought stays before what it led to; others go, and so do those of other models."""
    assert shape(arranged(U("q"), R("hm"), A("a"), R("and?"), U("x"))) == ["U:q", "A:hm|a", "U:x"]
    assert shape(arranged(U("q"), R("hm"), U("x"))) == ["U:q|x"]
    assert shape(arranged(U("q"), R("hm"), A("a"), U("x"), owns=lambda _: False))[1] == "A:a"


def test_the_model_speaks_neither_first_nor_last() -> None:
    """A conversation that begins or ends with the model is framed by what says so."""
    assert shape(arranged(A("a"))) == ["U:[Earlier messages are not shown.]", "A:a", "U:Continue."]
    assert shape(arranged(S())) == ["U:Continue."]
    assert shape(arranged(U("q"), C("a"), T("a")))[-1] == "A:a"


def test_all_text_encodes() -> None:
    """A lone surrogate in any field is replaced before anything is built from it."""
    bad = "\ud800"
    made = arranged(S(bad), U(bad), A(bad), C(bad, bad, bad), T(bad, bad), U(bad))
    str(made).encode()
    assert "\ufffd" in shape(made)[1]
    assert calls(made)[0][1] == "\ufffd"


def test_the_parts_of_a_result_are_kept_beside_its_text() -> None:
    """Texts of a result join its output; images and files stay parts."""
    result = ToolResultEntry("a", "seen:", parts=[TextPart("a boat"), PICTURE])
    made = arranged(U("q"), C("a"), result)
    assert isinstance(made.messages[1], ModelMessage)
    (call,) = made.messages[1].calls
    assert (call.output, call.parts, call.is_error) == ("seen:\na boat", (PICTURE,), False)
