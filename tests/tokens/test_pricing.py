"""What images, files, reasoning, calls and schemas take."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from lovia.errors import UserError
from lovia.tokens import ByteCounter
from lovia.tokens.pricing import (
    ENTRY_TOKENS,
    IMAGE_TOKENS,
    LOW_DETAIL_IMAGE_TOKENS,
    MOST_PAGES,
    PAGE_TOKENS,
    entry_tokens,
    file_tokens,
    image_tokens,
    schema_text,
)
from lovia.transcript.entries import (
    AssistantTextEntry,
    ContentPart,
    FilePart,
    ImagePart,
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
)

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTER = ByteCounter()


def characters(text: str) -> int:
    """Measure a text by its characters, which makes the sums below plain."""
    return len(text)


@pytest.mark.parametrize("size", [100 * 1024, 5 * 1024 * 1024])
def test_an_image_costs_the_same_whatever_its_bytes(size: int) -> None:
    """Neither 100 KiB nor 5 MiB of image data count as text."""
    image = ImagePart(data=base64.b64encode(bytes(size)).decode(), mime_type="image/png")
    entry = InputEntry("user", [TextPart("look"), image])
    assert entry_tokens(entry, characters) == ENTRY_TOKENS + len("look") + IMAGE_TOKENS


@pytest.mark.parametrize(
    "image",
    [ImagePart(url="https://example.com/a.png"), ImagePart(url="data:image/png;base64," + "A" * 9)],
)
def test_an_address_of_an_image_is_not_text(image: ImagePart) -> None:
    """An image by address, data addresses included, has the flat price."""
    assert image_tokens(image) == IMAGE_TOKENS


def test_low_detail_has_its_own_price() -> None:
    """An image that is sent with low detail costs the vendor's flat price for that."""
    assert image_tokens(ImagePart(url="x", detail="low")) == LOW_DETAIL_IMAGE_TOKENS


@pytest.mark.parametrize(
    "part",
    [
        FilePart.from_bytes(b"a,b\n1,2\n", mime_type="text/csv"),
        FilePart.from_bytes(b"a,b\n1,2\n", mime_type="Application/JSON; charset=utf-8"),
        FilePart.from_bytes(b"a,b\n1,2\n", mime_type="application/geo+json"),
        FilePart(data=base64.b64encode(b"a,b\n1,2\n").decode(), filename="table.CSV"),
        FilePart(url="data:text/csv;base64," + base64.b64encode(b"a,b\n1,2\n").decode()),
    ],
)
def test_a_text_file_takes_what_its_text_takes(part: FilePart) -> None:
    """A text-like file is priced by its decoded text, told by type or by name."""
    assert file_tokens(part, characters) == 8


def test_a_large_text_file_is_judged_by_its_beginning() -> None:
    """Of a text file of megabytes the first part is decoded, and the rest taken to be alike."""
    part = FilePart.from_bytes(b"word " * 1_000_000, mime_type="text/plain")
    assert file_tokens(part, characters) == pytest.approx(5_000_000, rel=0.001)


@pytest.mark.parametrize(
    ("size", "pages"),
    [(0, 1), (1, 1), (50_000, 1), (50_003, 2), (1_000_000, 20), (10**8, MOST_PAGES)],
)
def test_a_document_is_priced_by_pages(size: int, pages: int) -> None:
    """Other files count as pages of 50,000 bytes, at least one and at most a hundred."""
    part = FilePart(data="A" * (size * 4 // 3), mime_type="application/pdf")
    assert file_tokens(part, characters) == pages * PAGE_TOKENS


def pdf(tree: bytes, size: int) -> FilePart:
    """Return a PDF of a size that holds this page tree at its end."""
    filling = b"%PDF-1.4\n" + b"scan" * (size // 4)
    return FilePart.from_bytes(filling + tree + b"\n%%EOF", mime_type="application/pdf")


@pytest.mark.parametrize("size", [1_000, 100_001, 5_000_002])
@pytest.mark.parametrize(
    ("tree", "pages"),
    [
        (b"1 0 obj << /Type /Pages /Kids [2 0 R 3 0 R] /Count 2 >> endobj", 2),
        (b"<</Count 12/Kids[2 0 R]/Type/Pages>>", 12),
        (b"<</Type/Pages/Count 3>> <</Type/Pages/Parent 1 0 R/Count 1>>", 3),
        (b"<</Type/Pages/Count 99999>>", MOST_PAGES),
    ],
)
def test_a_document_that_states_its_pages_is_priced_by_them(
    tree: bytes, pages: int, size: int
) -> None:
    """Whatever its bytes, a PDF costs the pages that it says it has."""
    assert file_tokens(pdf(tree, size), characters) == pages * PAGE_TOKENS


@pytest.mark.parametrize("tree", [b"", b"<</Type/Outlines/Count 40>>", b"/Count x /Type/Pages"])
def test_a_document_that_states_no_pages_is_judged_by_its_size(tree: bytes) -> None:
    """Where nothing says how many pages there are, or it cannot be read, bytes decide."""
    assert file_tokens(pdf(tree, 149_000), characters) == 3 * PAGE_TOKENS


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (FilePart(url="https://example.com/report.pdf"), PAGE_TOKENS),
        (FilePart(url="https://example.com/notes.txt"), PAGE_TOKENS),
        (FilePart(data="A" * 900_000, mime_type="image/webp"), IMAGE_TOKENS),
        (FilePart(data="A" * 900_000, filename="scan.jpeg"), IMAGE_TOKENS),
        (FilePart(data="no base64 é", mime_type="text/plain"), PAGE_TOKENS),
        (FilePart(data="A", mime_type="text/plain"), PAGE_TOKENS),
        (FilePart(), PAGE_TOKENS),
    ],
)
def test_odd_files_have_a_size(part: FilePart, tokens: int) -> None:
    """A mere address is one page, an image file an image, and broken base64 no text."""
    assert file_tokens(part, characters) == tokens


@pytest.mark.parametrize(
    ("entry", "tokens"),
    [
        (InputEntry("system", "abc"), 3),
        (AssistantTextEntry("abcd", id="m1"), 4),
        (ToolCallEntry("c1", "search", '{"q":1}'), 2 + 6 + 7),
        (ToolResultEntry("c1", "12345"), 2 + 5),
        (ToolResultEntry("c1", "", parts=[TextPart("abc"), ImagePart(url="x")]), 5 + IMAGE_TOKENS),
        (ReasoningEntry("why"), 3),
        (ReasoningEntry("why", signature="s" * 40_000), 3 + 10_000),
        (ReasoningEntry("", metadata={"k": "v" * 992}), 250),
    ],
)
def test_every_part_of_an_entry_has_its_price(entry: Any, tokens: int) -> None:
    """Ids, names, arguments, results and their parts, signatures and metadata all count."""
    assert entry_tokens(entry, characters) == ENTRY_TOKENS + tokens


def test_fifty_signatures_are_not_overlooked() -> None:
    """Fifty signatures of 40,000 characters weigh about half a million tokens."""
    signed = [ReasoningEntry("x", signature="A" * 40_000) for _ in range(50)]
    assert COUNTER.entries(signed) == pytest.approx(489_000, rel=0.05)


def test_only_entries_are_counted() -> None:
    """A vendor's message is refused with a hint instead of being counted as something."""
    message: Any = {"role": "user"}
    asks: list[Callable[[], int]] = [
        lambda: COUNTER.entry(message),
        lambda: COUNTER.entries([InputEntry("user", "a"), message]),
        lambda: entry_tokens(message, characters),
    ]
    for ask in asks:
        with pytest.raises(UserError, match="dict") as caught:
            ask()
        assert caught.value.hint


@dataclass
class _Tool:
    name: str = "search"
    description: str = "Finds it."
    parameters: Any = None


class _Answer(BaseModel):
    text: str


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(_Tool(parameters={"type": "object"}), id="object"),
        pytest.param({"name": "search", "description": "Finds it."}, id="schema"),
        pytest.param({"type": "function", "function": {"name": "search"}}, id="function schema"),
    ],
)
def test_a_tool_is_priced_by_its_schema(parts: Any) -> None:
    """A tool takes as much as its name, description and parameters as compact JSON."""
    written = schema_text(parts)
    assert '"search"' in written
    assert ": " not in written
    tokens = COUNTER.overhead(tools=[parts])
    assert tokens == ENTRY_TOKENS + COUNTER.text(written)
    assert COUNTER.overhead(tools=[parts] * 60) == 60 * tokens


def test_a_model_class_is_a_response_format() -> None:
    """A pydantic class is priced by its JSON schema, a schema by itself."""
    as_class = COUNTER.overhead(response_format=_Answer)
    assert as_class == COUNTER.overhead(response_format=_Answer.model_json_schema())
    assert as_class > ENTRY_TOKENS + 10


def test_instructions_are_part_of_the_overhead() -> None:
    """A system prompt of 31,000 characters is not free, and nothing at all is."""
    assert COUNTER.overhead() == 0
    assert COUNTER.overhead(instructions="Be brief. " * 3_100) > 5_000


def _holds_itself() -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    schema["items"] = schema
    return schema


@pytest.mark.parametrize(
    "value", [_holds_itself(), {"a": {1, 2}}, {("a", 1): 2}, object(), int, [object()], "\ud800"]
)
def test_odd_schemas_have_a_size(value: Any) -> None:
    """What is no JSON is priced by how it prints, and never raises."""
    assert COUNTER.overhead(response_format=value) > ENTRY_TOKENS


@pytest.mark.parametrize(
    "part", [TextPart("\ud800"), ImagePart(), FilePart(data="\ud800", mime_type="text/plain")]
)
def test_hostile_parts_have_a_size(part: ContentPart) -> None:
    """Lone surrogates and parts without anything in them are counted, not raised."""
    assert COUNTER.entry(InputEntry("user", [part])) >= ENTRY_TOKENS
