"""What people look at, in a real browser: the report and the preview of the dashboards."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest

from dashboards.preview.__main__ import over_metrics
from dashboards.preview.page import render
from dashboards.preview.prometheus import Span
from lovia.replay import render_report
from tests.dashboards.test_preview import Answers
from tests.pictures.chromium import found, page_text, take
from tests.replay.test_report import RESULT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(found() is None, reason="no Chromium on the path")

#: Says how far the page sticks out of the window, and which panels are larger than their box.
_MEASURE = """
<script>
const wide = document.documentElement.scrollWidth - innerWidth;
const cut = [...document.querySelectorAll('section')].filter(
  each => each.scrollHeight > each.clientHeight + 1 || each.scrollWidth > each.clientWidth + 1);
const pictures = [...document.querySelectorAll('svg')].map(each => each.getBoundingClientRect());
const told = {
  wide: wide,
  cut: cut.map(each => each.querySelector('h3')?.textContent),
  pictures: pictures.filter(each => each.width > 50 && each.height > 20).length,
};
document.body.innerHTML = '<pre id="told"></pre>';
document.getElementById('told').textContent = JSON.stringify(told);
</script>
"""


def _measured(page: str, folder: Path, *, width: int) -> dict[str, Any]:
    """Return what a browser finds in a page of this width, in pixels."""
    file = folder / "measured.html"
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)  # no scripts
    file.write_text(page.replace("</body>", f"{_MEASURE}</body>"), encoding="utf-8")
    shown = page_text(str(file), width=width, height=900)
    told = re.search(r'<pre id="told">(.*?)</pre>', shown, re.DOTALL)
    assert told is not None, shown[:2_000]
    result: dict[str, Any] = json.loads(unescape(told[1]))
    return result


@pytest.mark.parametrize("width", [1_280, 560])
def test_the_report_fits_the_window(width: int, tmp_path: Path) -> None:
    """On a wide screen and on a narrow one nothing sticks out, and the charts are there."""
    told = _measured(render_report([RESULT, RESULT]), tmp_path, width=width)

    assert told["wide"] <= 1
    assert told["pictures"] >= 2


@pytest.mark.parametrize("name", [name for name, _ in over_metrics()])
def test_the_preview_s_panels_hold_their_pictures(name: str, tmp_path: Path) -> None:
    """No panel of the preview is cut off, and every chart has a size."""
    (dashboard,) = [dashboard for known, dashboard in over_metrics() if known == name]
    page = render(dashboard, Answers(3.0, 5.0), Span(1_000.0, 1_600.0, 60.0), {})

    told = _measured(page, tmp_path, width=1_640)

    assert told["wide"] <= 1
    assert told["cut"] == []
    assert told["pictures"] == page.count("<svg")


def test_a_picture_is_taken(tmp_path: Path) -> None:
    """The picture is a PNG of the size that was asked for."""
    page = tmp_path / "page.html"
    page.write_text("<body style='background: teal'>", encoding="utf-8")

    take(str(page), tmp_path / "page.png", width=640, height=480)

    head = (tmp_path / "page.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")) == (640, 480)
