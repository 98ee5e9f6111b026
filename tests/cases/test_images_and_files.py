"""Images cost what a model charges for them, and text in parts of a result is text."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from lovia.context import FileCompactionArchive
from lovia.context.recall import RecallSource, recall
from lovia.tokens import ByteCounter
from lovia.transcript import FilePart, ImagePart, TextPart, ToolResultEntry
from tests.cases.support import Conversation, policy_of, summaries
from tests.context.summarizer.fakes import FakeModel
from tests.notation import COUNTER, A, C, T, U, words

if TYPE_CHECKING:
    from pathlib import Path

    from lovia.transcript import ContentPart, TranscriptEntry

pytestmark = pytest.mark.anyio

KIB = 1_024


def image(size: int, **fields: Any) -> ImagePart:
    """Return an image of so many bytes."""
    return ImagePart(data=base64.b64encode(bytes(size)).decode(), mime_type="image/png", **fields)


@pytest.mark.parametrize("counter", [COUNTER, ByteCounter()], ids=["given", "bytes"])
def test_an_image_costs_the_same_whatever_its_bytes(counter: Any) -> None:
    """100 KiB and 5 MiB of image are the same number of tokens; so is an address."""
    parts = [image(100 * KIB), image(5_120 * KIB), ImagePart(url="https://example.org/a.png")]
    files = [FilePart(data=part.data, mime_type="image/png") for part in parts[:2]]
    files.append(FilePart(url=f"data:image/png;base64,{parts[1].data}"))
    parts.append(ImagePart(url=f"data:image/png;base64,{parts[1].data}"))
    sizes = {counter.entry(U(parts=[TextPart("look"), part])) for part in (*parts, *files)}
    assert len(sizes) == 1
    assert sizes.pop() < 3_000
    results = {counter.entry(T("a", parts=(part,))) for part in parts}
    assert len(results) == 1


def scan(size: int) -> FilePart:
    """Return a document of three scanned pages that has so many bytes."""
    tree = b"<</Type/Pages/Kids[1 0 R 2 0 R 3 0 R]/Count 3>>\n%%EOF"
    return FilePart.from_bytes(b"%PDF-1.4\n" + bytes(size) + tree, mime_type="application/pdf")


async def test_a_document_costs_its_pages_whatever_its_bytes() -> None:
    """A first message with a scan of 4 MiB stays, and costs what one of 100 KiB costs."""
    assert COUNTER.entry(U(parts=[scan(100 * KIB)])) == COUNTER.entry(U(parts=[scan(5_120 * KIB)]))
    policy = policy_of(token_counter=None, context_window_tokens=50_000)
    talk = Conversation(policy, U(parts=(TextPart("what is this?"), scan(4_096 * KIB))))
    for _ in range(5):
        result = await talk.view(A("a letter"), U("and now?"))
        assert result.outcome is None
        assert result.entries == talk.transcript


@pytest.mark.parametrize("where", ["message", "result"])
async def test_images_of_megabytes_start_no_compaction(where: str) -> None:
    """A first message with an image of 4 MiB stays what it is; nothing is compacted for it."""
    parts = (TextPart("what is this?"), image(4_096 * KIB))
    start: list[TranscriptEntry] = [U(parts=parts)]
    if where == "result":
        start = [U("look"), C("a"), T("a", "seen", parts=parts[1:])]
    policy = policy_of(token_counter=None, context_window_tokens=200_000)
    talk = Conversation(policy, *start)
    for _ in range(5):
        result = await talk.view(A("a cat"), U("and now?"))
        assert result.outcome is None
        assert result.entries == talk.transcript
        assert result.sizes is not None
        assert result.sizes.request_after < 3_000


async def test_many_images_are_summarised_without_their_bytes() -> None:
    """When images fill the window they are folded by name, never by their base64 text."""
    model = FakeModel()
    policy = policy_of(model, context_window_tokens=20_000, max_entries=None)
    turn: list[TranscriptEntry] = [U(parts=(TextPart("see"), image(200 * KIB))), A("ok")]
    talk = Conversation(policy, *turn * 15, U("so?"))
    result = await talk.view()
    assert summaries(result.entries)
    assert result.sizes is not None
    assert result.sizes.request_after < 16_000
    assert "[image image/png]" in model.requests[0].text
    assert len(model.requests[0].text) < 20_000


def result_of(shape: str) -> ToolResultEntry:
    """Return a result of 50,000 tokens whose text is in parts."""
    half = words(25_000, "half")
    shapes: dict[str, tuple[str, tuple[ContentPart, ...]]] = {
        "one_part": ("", (TextPart(words(50_000)),)),
        "two_parts": ("", (TextPart(half), TextPart(half))),
        "output_and_part": (half, (TextPart(half),)),
        "with_an_image": ("", (TextPart(words(50_000)), image(10))),
        "with_a_file": (half, (TextPart(half), FilePart(url="https://example.org/a.pdf"))),
    }
    output, parts = shapes[shape]
    return ToolResultEntry("a", output, parts=parts)


@pytest.mark.parametrize(
    "shape", ["one_part", "two_parts", "output_and_part", "with_an_image", "with_a_file"]
)
@pytest.mark.parametrize("how", ["arrival", "batch", "retention", "refused"])
async def test_text_in_parts_is_offloaded_and_recalled(
    how: str, shape: str, tmp_path: Path
) -> None:
    """A result made of parts is archived or cleared like any other, and all its text comes back."""
    archive = FileCompactionArchive(tmp_path)
    policy = policy_of(
        archive=archive,
        context_window_tokens=80_000 if how == "retention" else None,
        large_tool_result_chars=20_000 if how == "arrival" else 10**9,
        tool_result_budget_chars=100_000 if how == "batch" else 10**9,
        keep_recent_tool_results=0,
    )
    result = result_of(shape)
    text = result.output + "".join(getattr(part, "text", "") for part in result.parts)
    talk = Conversation(policy, U("read"), C("a"), C("b"), result, T("b"))
    if how == "retention":
        talk.transcript += [A("read it", tokens=15_000), U("go on")]
    view = (await talk.refused(30_000) if how == "refused" else await talk.view()).entries
    shown = next(e for e in view if isinstance(e, ToolResultEntry) and e.call_id == "a")
    assert shown.origin == "placeholder"
    assert shown.parts == ()
    assert len(shown.output) < 4_000
    source = RecallSource(talk.transcript, archive, session_id="s")
    pages = [
        await recall({"call_id": "a", "offset": offset, "limit": 16_000}, source)
        for offset in range(0, len(text) + 100, 16_000)
    ]
    read = "".join(pages)
    assert all(read.count(piece) for piece in (text[:5_000], text[-5_000:]))
    if how != "retention":
        (path,) = (tmp_path / "tool-results" / "s").iterdir()
        kept = path.read_text(encoding="utf-8")
        assert kept.replace("\n", "").startswith(text.replace("\n", ""))
        assert str(path) in shown.output or path.name in shown.output
