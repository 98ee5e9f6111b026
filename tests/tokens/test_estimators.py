"""The estimate from bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.tokens import ByteCounter, TiktokenCounter, default_counter
from lovia.transcript import load_transcript
from lovia.transcript.entries import text_of
from tests.paths import TRANSCRIPTS, needs_transcripts
from tests.tokens.samples import SAMPLES, Sample

COUNTER = ByteCounter()
RECORDED = sorted(
    path.name
    for path in TRANSCRIPTS.glob("*.json")
    if not path.name.endswith(".usage.json") and path.name != "index.json"
)


@pytest.fixture(scope="module")
def tokenizer() -> TiktokenCounter:
    """Return a counter with the older of the two vocabularies that the weights were fitted to."""
    counter = TiktokenCounter("cl100k_base")
    assert counter.load_blocking()
    return counter


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_the_estimate_is_near_the_count(sample: Sample, tokenizer: TiktokenCounter) -> None:
    """Each script and kind of text is estimated within the bounds that are stated for it."""
    ratio = COUNTER.text(sample.text) / tokenizer.text(sample.text)
    assert sample.least <= ratio <= sample.most


@needs_transcripts
@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_session_is_estimated_within_a_third(
    name: str, tokenizer: TiktokenCounter
) -> None:
    """The whole of each recorded session comes out between 0.9 and 1.3 times the count."""
    texts = [text_of(entry)[:60_000] for entry in load_transcript(TRANSCRIPTS / name)]
    ratio = sum(map(COUNTER.text, texts)) / sum(map(tokenizer.text, texts))
    assert 0.9 <= ratio <= 1.3


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_long_text_is_judged_by_its_samples(sample: Sample) -> None:
    """Fifty times the text has about fifty times the tokens, though only samples are read."""
    once, often = COUNTER.text(sample.text), COUNTER.text(sample.text * 50)
    assert often == pytest.approx(50 * once, rel=0.25)


def test_sizes_come_from_bytes() -> None:
    """The source says that nothing but bytes was looked at, and the default counter is this one."""
    assert COUNTER.source == "bytes"
    assert isinstance(default_counter(), ByteCounter)
    assert default_counter() is default_counter()


def test_nothing_takes_nothing() -> None:
    """Only the empty text has no tokens."""
    assert COUNTER.text("") == 0


@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=700))
def test_every_text_has_a_size(text: str) -> None:
    """Any text, lone surrogates included, takes one to three tokens a character."""
    assert 1 <= COUNTER.text(text) <= 3 * len(text)


@given(st.text(max_size=300), st.text(max_size=200))
def test_more_text_never_takes_fewer_tokens(head: str, tail: str) -> None:
    """A text that is read whole does not shrink when something is appended, folded runs apart."""
    whole = head + "a" + tail
    assert COUNTER.text(whole) + 4 >= COUNTER.text(head)
