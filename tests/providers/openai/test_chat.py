"""Tests of Chat Completions: what is sent, and what other servers than OpenAI's send back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from lovia import ModelSettings
from lovia.errors import ProviderError
from lovia.providers import ModelReply
from lovia.providers.openai import COMPATIBLE_DIALECT, OPENAI_DIALECT
from lovia.providers.openai.chat_request import chat_body
from lovia.providers.openai.chat_stream import ChatReader
from lovia.providers.openai.dialect import host_of
from lovia.providers.wire.conversation import conversation_of
from lovia.providers.wire.names import CallIds, ToolNames
from lovia.transcript import (
    FilePart,
    ImagePart,
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolResultEntry,
    TranscriptEntry,
)
from tests.notation import A, C, S, T, U
from tests.providers.support import tools
from tests.providers.wire import chat_wire

if TYPE_CHECKING:
    from lovia.providers.openai import ChatDialect

PICTURE = ImagePart(data="aGk=", mime_type="image/png", detail="low")


def body_of(
    *entries: TranscriptEntry, dialect: ChatDialect = OPENAI_DIALECT, **how: Any
) -> dict[str, Any]:
    """Return the request for entries; it is one that the strict server takes."""
    made = conversation_of(entries, ids=CallIds(dialect.call_ids), owns=lambda _: True)
    settings = {"tools": [], "response_format": None, "settings": ModelSettings(), **how}
    body = chat_body("m", made, dialect, **settings)
    chat_wire.check(body, official=dialect is OPENAI_DIALECT)
    return body


def read(*events: dict[str, Any]) -> ModelReply:
    """Read an answer that comes in these chunks."""
    reader = ChatReader("vendor", "m", origin="host", names=ToolNames(tools("a.b")))
    reply = ModelReply()
    for event in events:
        for delta in reader.feed(event):
            reply.feed(delta)
    for delta in reader.end():
        reply.feed(delta)
    return reply


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """Return one chunk."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_openai_takes_system_messages_anywhere() -> None:
    """Later system messages keep role and place at OpenAI's, and are marked text elsewhere."""
    entries: list[TranscriptEntry] = [
        S("be good"),
        U("hi"),
        InputEntry("developer", "be quick"),
        U("well?"),
    ]
    roles = [(m["role"], m["content"]) for m in body_of(*entries)["messages"]]
    assert roles == [
        ("system", "be good"),
        ("user", "hi"),
        ("developer", "be quick"),
        ("user", "well?"),
    ]
    marked = body_of(*entries, dialect=COMPATIBLE_DIALECT)["messages"]
    assert [m["role"] for m in marked] == ["system", "user"]
    assert marked[1]["content"] == "hi\n\n[System message]\n\nbe quick\n\nwell?"


def test_images_of_results_follow_in_a_user_message() -> None:
    """Tool messages are text, so what is attached comes next, before what the user says then."""
    result = ToolResultEntry("c", "a chart", parts=[PICTURE])
    messages = body_of(U("q"), C("c"), result, U("and?"))["messages"]
    assert messages[2]["role"] == "tool"
    assert "next message" in messages[2]["content"]
    kinds = [part["type"] for part in messages[3]["content"]]
    assert kinds == ["text", "image_url", "text"]
    assert messages[3]["content"][1]["image_url"] == {
        "url": "data:image/png;base64,aGk=",
        "detail": "low",
    }
    alone = body_of(U("q"), C("c"), result)["messages"]
    assert [m["role"] for m in alone] == ["user", "assistant", "tool", "user"]


def test_files_are_sent_as_the_protocol_can() -> None:
    """A text file is text, an embedded file a file; what the protocol does not know is named."""
    text = FilePart(data="aGk=", mime_type="text/plain", filename="a.txt")
    pdf = FilePart(data="JVBE", mime_type="application/pdf", filename="a.pdf")
    far = FilePart(url="https://x.test/b.pdf", mime_type="application/pdf")
    kept = FilePart(url="file-id:f1")
    content = body_of(InputEntry("user", [text, pdf, far, kept, ImagePart(url="file-id:f2")]))
    parts = content["messages"][0]["content"]
    assert parts[0]["text"] == "[File a.txt]\n\nhi"
    assert parts[1]["file"] == {
        "filename": "a.pdf",
        "file_data": "data:application/pdf;base64,JVBE",
    }
    assert "https://x.test/b.pdf" in parts[2]["text"]
    assert parts[3]["file"] == {"file_id": "f1"}
    assert parts[4]["text"].startswith("[image that cannot be shown here")


def test_arguments_are_wrapped_where_templates_parse_them() -> None:
    """OpenAI sees arguments as the model wrote them; other servers a JSON object."""
    entries: list[TranscriptEntry] = [U("q"), C("c", "read", "no json"), T("c"), U("x")]
    sent = [
        body_of(*entries, dialect=dialect)["messages"][1]["tool_calls"][0]["function"]["arguments"]
        for dialect in (OPENAI_DIALECT, COMPATIBLE_DIALECT)
    ]
    assert sent == ["no json", '{"arguments": "no json"}']


def test_a_server_gets_its_model_s_thoughts_back() -> None:
    """Thoughts return in the field in which they came, and calls with what they carried."""
    signature = {"google": {"thought_signature": "sig"}}
    entries: list[TranscriptEntry] = [
        U("q"),
        ReasoningEntry("hm", metadata={"reasoning_field": "reasoning_content"}),
        C("a"),
        T("a"),
        ReasoningEntry("", metadata={"extra_content": {"1": signature}}),
        C("b"),
        C("c"),
        T("b"),
        T("c"),
        ReasoningEntry("", metadata={"reasoning_details": [{"type": "reasoning.text"}]}),
        A("so"),
        U("x"),
    ]
    _, first, _, second, _, _, third, _ = body_of(*entries, dialect=COMPATIBLE_DIALECT)["messages"]
    assert first["reasoning_content"] == "hm"
    assert second["reasoning_content"] == ""
    assert "extra_content" not in second["tool_calls"][0]
    assert second["tool_calls"][1]["extra_content"] == signature
    assert third["reasoning_details"] == [{"type": "reasoning.text"}]


def test_known_servers_get_what_they_insist_on() -> None:
    """DeepSeek's field stands on every message with calls; Gemini's calls are signed."""
    entries: list[TranscriptEntry] = [U("q"), C("a"), T("a"), U("x")]
    deepseek = host_of("https://api.deepseek.com").dialect
    assert body_of(*entries, dialect=deepseek)["messages"][1]["reasoning_content"] == ""
    gemini = host_of("https://generativelanguage.googleapis.com/v1beta/openai").dialect
    assert "extra_content" in body_of(*entries, dialect=gemini)["messages"][1]["tool_calls"][0]
    mistral = host_of("https://api.mistral.ai/v1").dialect
    assert len(body_of(*entries, dialect=mistral)["messages"][1]["tool_calls"][0]["id"]) == 9


def test_nothing_is_sent_that_was_not_asked_for() -> None:
    """Fields without a value are left out, and so is what makes sense with tools only."""
    body = body_of(U("q"), settings=ModelSettings(parallel_tool_calls=True))
    assert set(body) == {"model", "messages", "stream", "stream_options"}
    silent = body_of(U("q"), dialect=replace(COMPATIBLE_DIALECT, stream_usage=False))
    assert "stream_options" not in silent


def test_a_whole_call_in_one_chunk_is_understood() -> None:
    """Servers that send calls whole, all with one index or with none, lose none of them."""
    for index in ({"index": 0}, {}):
        calls = [
            {**index, "id": f"c{n}", "function": {"name": "a", "arguments": f'{{"n": {n}}}'}}
            for n in range(3)
        ]
        reply = read(chunk(tool_calls=calls[:2]), chunk(tool_calls=calls[2:]), chunk("stop"))
        assert [(call.call_id, call.arguments) for call in reply.calls] == [
            ("c0", '{"n": 0}'),
            ("c1", '{"n": 1}'),
            ("c2", '{"n": 2}'),
        ]
        assert reply.finish_reason == "tool_calls"


def test_pieces_of_parallel_calls_are_sorted() -> None:
    """Pieces that arrive interleaved belong to the call of their index; names come back as ours."""
    head = [{"index": n, "id": f"c{n}", "function": {"name": "a_b_5b3ed2a5"}} for n in (0, 1)]
    name = next(iter(ToolNames(tools("a.b"))._own))
    for piece in head:
        piece["function"] = {"name": name}
    more = [
        {"index": n, "function": {"arguments": text}} for n, text in ((1, "{"), (0, "{}"), (1, "}"))
    ]
    reply = read(
        chunk(tool_calls=head), *(chunk(tool_calls=[m]) for m in more), chunk("tool_calls")
    )
    assert [(call.name, call.arguments) for call in reply.calls] == [("a.b", "{}"), ("a.b", "{}")]


def test_pieces_without_index_and_id_go_on_with_the_last_call() -> None:
    """Some servers name a call once, by its id alone."""
    reply = read(
        chunk(tool_calls=[{"id": "c1", "function": {"name": "a_b", "arguments": '{"x"'}}]),
        chunk(tool_calls=[{"function": {"arguments": ": 1}"}}]),
        chunk(tool_calls=[{"id": "c2", "function": {"name": "a_b", "arguments": "{"}}]),
        chunk(tool_calls=[{"function": {"arguments": "}"}}]),
        chunk(finish="tool_calls"),
    )
    assert [(c.call_id, c.arguments) for c in reply.calls] == [("c1", '{"x": 1}'), ("c2", "{}")]


def test_usage_may_stand_in_the_choice() -> None:
    """Kimi reports it there."""
    event = chunk(finish="stop", content="ok")
    event["choices"][0]["usage"] = {"prompt_tokens": 7, "completion_tokens": 2}
    reply = read(event)
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (7, 2)


def test_blocks_of_reasoning_are_joined() -> None:
    """OpenRouter's blocks come in pieces and go back whole."""
    pieces = [
        {"type": "reasoning.text", "index": 0, "text": "one "},
        {"type": "reasoning.text", "index": 0, "text": "two", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "x"},
    ]
    reply = read(
        *(chunk(reasoning_details=[piece]) for piece in pieces), chunk("stop", content="y")
    )
    (thought,) = [entry for entry in reply.entries() if isinstance(entry, ReasoningEntry)]
    assert thought.provider == "host"
    assert thought.metadata["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "one two", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "x"},
    ]


def test_reasoning_that_is_not_in_the_completion_is_output_all_the_same() -> None:
    """Where a server leaves reasoning out of the completion but in the total, it is counted."""
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40}
    reply = read(chunk("stop", content="x"), {"choices": [], "usage": usage})
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (10, 30)
    cached = read(chunk("stop"), {"usage": {**usage, "prompt_cache_hit_tokens": 4}})
    assert cached.usage is not None
    assert cached.usage.cache_read_tokens == 4


@pytest.mark.parametrize("reason", ["error", "abort"])
def test_an_answer_that_broke_off_is_none(reason: str) -> None:
    """Servers that end a broken answer politely are not believed."""
    with pytest.raises(ProviderError) as caught:
        read(chunk(reason, content="half an ans"))
    assert caught.value.retryable


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"choices": None},
        {"choices": [None, 7, "x"]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"tool_calls": [None, {}], "content": 7, "reasoning": []}}]},
        {"usage": "none"},
        {"usage": {"prompt_tokens": "many", "prompt_tokens_details": 3}},
    ],
)
def test_odd_chunks_do_no_harm(event: dict[str, Any]) -> None:
    """What a chunk should not hold is not there."""
    assert read(event, chunk("stop", content="fine")).text == "fine"


def test_content_of_a_user_stays_text_where_it_can() -> None:
    """Messages of texts alone are one text, which strict templates want; with images a list."""
    assert body_of(U("a"), U("b"))["messages"][0]["content"] == "a\n\nb"
    mixed = body_of(InputEntry("user", [TextPart("a"), PICTURE]), U("b"))["messages"][0]
    assert [part["type"] for part in mixed["content"]] == ["text", "image_url", "text"]
