"""Identifiers: what counts as one, and how long looking for them can take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lovia.context.summarizer import identifiers
from lovia.context.summarizer.identifiers import find_identifiers, searchable
from lovia.transcript.entries import ToolCallEntry
from tests.context.summarizer.strategies import texts


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("open /usr/local/bin/foo now", "path", "/usr/local/bin/foo"),
        ("(src/app/main.py:10)", "path", "src/app/main.py:10"),
        ("edit config.yaml.", "path", "config.yaml"),
        ("cd ../lib && ls", "path", "../lib"),
        (r"C:\Users\me\notes.txt is open", "path", r"C:\Users\me\notes.txt"),
        ("在 src/主程序.py 中", "path", "src/主程序.py"),
        ("run `npm run build -- --watch`", "command", "npm run build -- --watch"),
        ("see https://x.org/a?b=1&c=2).", "address", "https://x.org/a?b=1&c=2"),
        ("mail ann.b@example.org,", "address", "ann.b@example.org"),
        ("on localhost:8080/health", "address", "localhost:8080/health"),
        ("commit 3f2a9bc fixed", "hash", "3f2a9bc"),
        ("id 550e8400-e29b-41d4-a716-446655440000", "hash", "550e8400-e29b-41d4-a716-446655440000"),
        ("order 20041138", "hash", "20041138"),
        ("took 3.5s", "quantity", "3.5s"),
        ("about 12 MB free", "quantity", "12 MB"),
        ("costs $1,200 net", "quantity", "$1,200"),
        ("预算5万元", "quantity", "5万元"),
        ("共 30 亿美元", "quantity", "30 亿美元"),
        ("grew by 80%", "quantity", "80%"),
        ("due 2026-11-30", "quantity", "2026-11-30"),
        ("on v1.2.3", "quantity", "v1.2.3"),
        ("raised KeyError", "code", "KeyError"),
        ("got ENOENT", "code", "ENOENT"),
        ("error TS2345 again", "code", "TS2345"),
        ("set ERR_CONN_RESET", "code", "ERR_CONN_RESET"),
        ("answered HTTP 404", "code", "HTTP 404"),
        ("with exit code 137.", "code", "exit code 137"),
        ("see CVE-2026-1234", "code", "CVE-2026-1234"),
        ("fix #42 first", "code", "#42"),
        ('the "Apollo Programme" it is', "name", "Apollo Programme"),
        ("代号「星际计划」", "name", "星际计划"),
    ],
)
def test_kinds(text: str, kind: str, found: str) -> None:
    """Each kind of identifier is found, without the punctuation around it."""
    assert list(find_identifiers(text)) == [(found, kind)]


@pytest.mark.parametrize(
    "text",
    [
        "and/or yes/no input/output",
        "The end. Of it. Every day, e.g. so",
        'she said "well, I do not think that this is going to work at all"',
        '{"path": 1, "n": 2}',
        "self.foo.bar = x.y",
        "A" * 5_000 + "/" + "B" * 5_000,
        "x" * 300 + ".py",
        "a ` b",
        "`${name} failed`",
        '<div class="Card Title" id="Main"></div></section>',
    ],
)
def test_what_is_no_identifier(text: str) -> None:
    """Ordinary words, sentences, JSON keys, attribute names and blobs are left alone."""
    assert list(find_identifiers(text)) == []


def test_arguments_are_read_without_their_escapes() -> None:
    """Line ends and quotes inside JSON arguments do not stick to what stands beside them."""
    call = ToolCallEntry("c1", "bash", '{"command": "cat src/a.py\\ncat src/b.py"}')
    assert {"src/a.py", "src/b.py"} <= {text for text, _ in find_identifiers(searchable(call))}


@given(text=texts())
def test_any_text_gives_clean_bounded_identifiers(text: str) -> None:
    """An identifier stands in the text, on one line, without backticks, and is not too long."""
    for found, _ in find_identifiers(text):
        assert found in text
        assert 2 <= len(found) <= identifiers.MAX_LENGTH
        assert not set(found) & set("`\n")


@given(text=texts(), stride=st.integers(1, 40))
def test_ascii_is_read_as_any_other_text(text: str, stride: int) -> None:
    """The fast way through ASCII finds what the general one finds, whatever the stride."""
    text = text.encode("ascii", "replace").decode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identifiers, "_STRIDE", stride)
        fast = list(find_identifiers(text))
    assert fast == list(find_identifiers(text + " é"))
