"""What the documents show works as shown."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.meta.documents import documents, files, snippets
from tests.meta.snippets import compile_snippet, run_code
from tests.paths import REPO

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(REPO)))
def test_snippets_run_in_their_order(document: Path, tmp_path: Path) -> None:
    """The Python blocks of a document run one after the other as one program in an empty folder."""
    command = [sys.executable, "-W", "error", "-m", "tests.meta.snippets", str(document)]
    surroundings = {
        "PYTHONPATH": os.pathsep.join([str(REPO), str(REPO / "instrumentation")]),
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",  # seconds: the backend of a snippet is not there
    }
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | surroundings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_fences_of_documents_are_read_rightly(tmp_path: Path) -> None:
    """Only blocks fenced as python count, indented or not; a reason holds for the next block."""
    page = tmp_path / "page.md"
    page.write_text(
        "```text\n```python\nno = 1\n```\n\n<!-- no-run: needs a key -->\n\n"
        "```python\na = 1\n```\n- item\n  ```python\n  b = 2\n  ```\n"
    )
    found = [(s.line, s.text, s.no_run) for s in snippets(page)]
    assert found == [(9, "a = 1\n", "needs a key"), (13, "b = 2\n", None)]


def test_a_file_that_a_document_shows_is_there_for_its_snippets(tmp_path: Path) -> None:
    """A block behind a comment that names a file is that file; one without is only read."""
    page = tmp_path / "page.md"
    page.write_text("<!-- file: a.toml -->\n```toml\na = 1\n```\n\n```toml\nb = 1\n```\n")
    assert files(page) == {"a.toml": "a = 1\n"}
    assert snippets(page) == []


def test_a_failing_snippet_fails(tmp_path: Path) -> None:
    """An exception in a snippet comes out, with the line of the document."""
    page = tmp_path / "page.md"
    page.write_text("text\n\n```python\nimport anyio\nawait anyio.sleep(0)\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as caught:
        run_code(compile_snippet(snippets(page)[0]), {})
    assert caught.traceback[-1].lineno == 5  # counted from 0
