"""Entries and chat messages, one made of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia import FilePart, ImagePart, Message, TextPart, UserError, assistant, system, user
from lovia.transcript import ToolResultEntry, entries_to_messages, messages_to_entries
from lovia.transcript.messages import ToolCall
from tests.notation import A, C, R, S, T, U

if TYPE_CHECKING:
    from lovia import TranscriptEntry

PARTS = (TextPart("see"), ImagePart(url="https://example.test/a.png"))


def test_what_the_model_says_is_one_message() -> None:
    """Thoughts, texts and calls up to the next speaker are one message; results are one each."""
    said: list[TranscriptEntry] = [R("hm "), A("I "), R("ok"), A("ask."), C("c1"), C("c2")]
    entries: list[TranscriptEntry] = [
        S("Be."),
        U("go"),
        *said,
        T("c1", "one"),
        T("c2", "two"),
        A("done"),
    ]
    calls = [ToolCall("c1", "search", '{"q": 1}'), ToolCall("c2", "search", '{"q": 1}')]
    assert entries_to_messages(entries) == [
        Message("system", "Be."),
        Message("user", "go"),
        Message("assistant", "I ask.", "hm ok", calls),
        Message("tool", "one", tool_call_id="c1"),
        Message("tool", "two", tool_call_id="c2"),
        Message("assistant", "done"),
    ]


@given(
    st.lists(
        st.one_of(
            st.builds(U, st.text()),
            st.builds(S, st.text()),
            st.builds(lambda output: [C("c1"), T("c1", output)], st.text()),
            st.builds(lambda text: [A(text), U()], st.text(min_size=1)),
            st.builds(lambda thought: [R(thought), C("c2"), T("c2")], st.text(min_size=1)),
        )
    )
)
def test_messages_become_the_entries_they_were_made_of(drawn: list[Any]) -> None:
    """Where a message loses nothing of its entries, it gives them back."""
    entries = [e for item in drawn for e in (item if isinstance(item, list) else [item])]
    assert messages_to_entries(entries_to_messages(entries)) == entries


@pytest.mark.parametrize(
    ("message", "role", "text"),
    [
        (user("hi"), "user", "hi"),
        (user(TextPart("one")), "user", "one"),
        (user([*PARTS, FilePart(url="u", filename="a.pdf")]), "user", "see\n[image]\n[file a.pdf]"),
        (system("Be."), "system", "Be."),
        (assistant("ok"), "assistant", "ok"),
        (Message("assistant"), "assistant", ""),
    ],
)
def test_a_message_shows_its_text(message: Message, role: str, text: str) -> None:
    """Whatever the content is, there is a readable form of it."""
    assert (message.role, message.text) == (role, text)


def test_messages_are_values() -> None:
    """Lists handed to a message are kept as tuples, so that equal messages are equal."""
    made = Message("user", list(PARTS), tool_calls=[])
    assert made == Message("user", PARTS)
    assert hash(made) == hash(Message("user", PARTS))


def test_parts_go_through_a_tool_message() -> None:
    """A tool message of parts becomes a result of parts; the way back gives their text."""
    (entry,) = messages_to_entries([Message("tool", PARTS, tool_call_id="c1")])
    assert entry == ToolResultEntry("c1", "", parts=PARTS)
    assert entries_to_messages([entry]) == [Message("tool", "see\n[image]", tool_call_id="c1")]


def test_an_unknown_role_is_refused() -> None:
    """A role that no entry has draws an error that names it."""
    odd: Any = "narrator"
    with pytest.raises(UserError, match="narrator"):
        messages_to_entries([Message(odd, "once upon a time")])
