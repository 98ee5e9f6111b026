"""The HTML report."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from lovia.errors import UserError
from lovia.replay import ReplayResult, UsagePoint, compare_usage, render_report, write_report
from lovia.replay.palette import NUMBERS
from tests.replay.test_result import DONE, STAGES, TURN

if TYPE_CHECKING:
    from pathlib import Path

RESULT = ReplayResult(
    "session",
    "trigger_ratio=0.7",
    1000,
    (TURN, replace(TURN, index=2, passes=(), view="replayed", history=1600)),
    "digest",
    compare_usage([UsagePoint(k, 2 * k, 100 * k, 100 * k + 2300) for k in range(1, 5)]),
)
HOSTILE = "</title><script>alert(1)</script>\ud800 ${{7*7}} \x1b[31m \u202e\" onload='x' {{ 7*7 }}"
VOID = {"meta", "line", "path", "circle", "rect", "input", "i"}


class Page(HTMLParser):
    """Collects tags, attributes and text, and checks that tags nest."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in the beginning of an element."""
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID - {"i"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in an element without content."""
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        """Check that the innermost element ends."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Take in text."""
        self.text += data


def read(html: str) -> Page:
    """Parse a page and check that it closes what it opens."""
    page = Page()
    page.feed(html)
    page.close()
    assert page.open == []
    return page


def test_a_report_holds_the_numbers_and_says_what_they_mean() -> None:
    """The five numbers, each pass with its stages, and the meaning of each number are there."""
    page = read(render_report([RESULT]))
    words = " ".join(page.text.split())
    totals = RESULT.totals
    for number in (totals.saved, totals.summary_cost, totals.net, totals.sent, totals.uncompacted):
        assert f"{number:,}" in words
    for swatch in NUMBERS:
        assert swatch.label in words
        assert swatch.meaning in words
    assert "middle_snip -500 31 entries left out" in words
    assert "archive/1.jsonl" in words
    assert "+2,300" in words  # the offset of the provider's count
    assert "33.3 %" not in words


def test_a_report_is_one_file_that_loads_and_runs_nothing() -> None:
    """No script, no address, no style or picture from elsewhere."""
    html = render_report([RESULT, RESULT])
    page = read(html)
    assert not {"script", "link", "img", "iframe", "object", "base"} & set(page.tags)
    assert "http" not in html.replace("http-equiv", "")
    assert "url(" not in html
    assert all(not name.startswith("on") for name, _ in page.attributes)
    assert all(value and value.startswith("#") for name, value in page.attributes if name == "href")


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    """Markup, templates, control characters and lone surrogates in any text stay text."""
    stage = replace(STAGES[0], name=HOSTILE, note=HOSTILE)
    done = replace(DONE, stages=(stage,), archived=HOSTILE)
    hostile = replace(RESULT, name=HOSTILE, policy=HOSTILE, turns=(replace(TURN, passes=(done,)),))
    html = render_report([hostile], title=HOSTILE)
    page = read(html)
    html.encode()
    assert "script" not in page.tags
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert page.text.count("<script>alert(1)</script>") >= 5
    assert "{{ 7*7 }}" in page.text


def test_charts_and_tables_can_be_read_without_seeing_them() -> None:
    """Each drawing has a role and a title in words, each table has headers with a scope."""
    html = render_report([RESULT])
    page = read(html)
    assert html.count("<svg") == html.count('role="img" aria-labelledby=')
    assert "Over 2 calls the history grows to 1,600 tokens" in html
    assert page.tags.count("th") == sum(name == "scope" for name, _ in page.attributes)
    assert '<html lang="en">' in html


def test_several_recordings_have_a_table_of_contents() -> None:
    """With several recordings their sums come first, and each is linked."""
    page = read(render_report([RESULT, replace(RESULT, name="other")]))
    links = [value for name, value in page.attributes if name == "href"]
    assert links == ["#recording-1", "#recording-2"]
    assert ("id", "recording-2") in page.attributes


def test_overflows_are_said_loudly() -> None:
    """A report on calls that a provider would have refused says so."""
    turns = (replace(TURN, overflow=True), *RESULT.turns)
    html = render_report([replace(RESULT, turns=turns)])
    assert "1 of 3 requests stayed larger than the window." in html


def test_a_session_without_passes_says_so() -> None:
    """Where everything fits, the report says that nothing was compacted."""
    html = render_report([replace(RESULT, turns=(replace(TURN, passes=(), request=1500),))])
    assert "None: the history fits" in html


def test_a_report_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    """A folder that does not exist is named."""
    with pytest.raises(UserError, match="nowhere") as caught:
        write_report(tmp_path / "nowhere" / "out.html", [RESULT], title="x")
    assert caught.value.hint
    write_report(tmp_path / "out.html", [RESULT], title="x")
    assert read((tmp_path / "out.html").read_text(encoding="utf-8")).tags[0] == "html"
