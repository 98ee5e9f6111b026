"""Hypothesis strategies for texts, parts, entries and transcripts as hostile as they come."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from lovia.transcript import (
    AssistantTextEntry,
    ContentPart,
    FilePart,
    ImagePart,
    InputEntry,
    ReasoningEntry,
    TextPart,
    ToolCallEntry,
    ToolResultEntry,
    TranscriptEntry,
)

# Every code point, and often the ones that go wrong: halves of a surrogate pair, a NUL, line
# separators that are no line feeds.
characters = st.one_of(
    st.characters(exclude_categories=()),
    st.sampled_from(["\ud83d", "\ude00", "\x00", "\u2028", "\x85", "é", "中", "😀", '"', "\\"]),
)
texts = st.text(characters, max_size=12)
optional_texts = st.none() | texts
origins = st.sampled_from(["conversation", "summary", "placeholder"])

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
metadata = st.dictionaries(texts, json_values, max_size=3)

parts: st.SearchStrategy[ContentPart] = st.one_of(
    st.builds(TextPart, texts),
    st.builds(
        ImagePart,
        optional_texts,
        optional_texts,
        optional_texts,
        st.sampled_from([None, "auto", "low", "high"]),
    ),
    st.builds(FilePart, optional_texts, optional_texts, optional_texts, optional_texts),
)
part_lists = st.lists(parts, max_size=3)

inputs = st.builds(
    InputEntry, st.sampled_from(["system", "developer", "user"]), texts | part_lists, origins
)
assistant_texts = st.builds(AssistantTextEntry, texts, optional_texts)
thoughts = st.builds(
    ReasoningEntry, texts, optional_texts, optional_texts, optional_texts, metadata
)
calls = st.builds(ToolCallEntry, texts, texts, texts)
results = st.builds(ToolResultEntry, texts, texts, st.booleans(), part_lists, origins)

entries: st.SearchStrategy[TranscriptEntry] = st.one_of(
    inputs, assistant_texts, thoughts, calls, results
)
transcripts = st.lists(entries, max_size=8)
