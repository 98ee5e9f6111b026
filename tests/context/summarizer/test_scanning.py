"""Scans of a span: what is counted, where their bounds are, and that texts do not run together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.context.summarizer import scanning
from lovia.context.summarizer.identifiers import find_identifiers
from lovia.context.summarizer.scanning import scan
from tests.context.summarizer.strategies import texts

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_uses_are_counted_and_the_newest_position_is_kept() -> None:
    """An identifier knows how often it occurs, and how new its newest occurrence is."""
    found = scan(["src/a.py", "src/a.py and src/b.py", "src/b.py src/a.py"], 3)
    assert (found["src/a.py"].uses, found["src/a.py"].position) == (3, 1.0)
    assert (found["src/b.py"].uses, round(found["src/b.py"].position, 2)) == (2, 0.67)


#: What begins or ends something that goes on in the next text.
EDGES = ["", '"', "`", "“", "src/", "/a.py", "12 ", "kB", "exit code ", "404", ": ", ".", "a."]


@given(
    parts=st.lists(st.tuples(st.sampled_from(EDGES), texts(), st.sampled_from(EDGES)), max_size=6),
    batch=st.integers(1, 200),
)
def test_texts_that_are_read_as_one_do_not_run_together(
    parts: list[tuple[str, str, str]], batch: int
) -> None:
    """A scan finds in its texts what is found in each of them alone, however they are batched."""
    span = ["".join(part) for part in parts]
    alone = Counter(found for text in span for found in find_identifiers(text))
    newest: dict[str, float] = {}
    for index, text in enumerate(span):
        for found, _ in find_identifiers(text):
            newest.setdefault(found, 1.0 - index / len(span))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanning, "_BATCH", batch)
        together = scan(span, len(span))

    assert together.keys() == newest.keys()
    for text, item in together.items():
        assert item.uses == alone[text, item.kind]
    kinds = Counter(text for text, _ in alone)
    for text, item in together.items():
        assert item.position == newest[text] or kinds[text] > 1


def test_a_scan_is_bounded_and_newest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the bounds of a scan are reached, what was not read is the oldest."""
    monkeypatch.setattr(scanning, "MAX_DISTINCT", 10)
    texts = [f"src/new{i}.py" for i in range(10)] + [f"src/old{i}.py" for i in range(10)]
    assert all("new" in name for name in scan(texts, 20))
    monkeypatch.setattr(scanning, "MAX_READS", 4)
    assert len(scan(texts, 20)) <= 4
    monkeypatch.setattr(scanning, "MAX_SCANNED", 5)
    assert list(scan(texts, 20)) == ["src/new0.py"]


def test_texts_beyond_the_bound_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of texts that are made when they are asked for, those that are not read are not made."""
    monkeypatch.setattr(scanning, "MAX_SCANNED", 20)
    asked: list[int] = []

    def made() -> Iterator[str]:
        for index in range(10):
            asked.append(index)
            yield f"src/new{index}.py"

    assert len(scan(made(), 10)) == 2
    assert asked == [0, 1]
