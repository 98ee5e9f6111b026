"""What the documents show works as shown."""

from __future__ import annotations

import ast
import inspect
import sys
import types
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from tests.meta.documents import Snippet, documents, snippets
from tests.paths import REPO

if TYPE_CHECKING:
    from pathlib import Path


def _compile(snippet: Snippet) -> types.CodeType:
    """Compile a snippet so that errors point into its document; it may await at its top level."""
    text = "\n" * (snippet.line - 1) + snippet.text
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code: types.CodeType = compile(
        text, str(snippet.document), "exec", flags=flags, dont_inherit=True
    )
    return code


def _run(code: types.CodeType, namespace: dict[str, Any]) -> None:
    if code.co_flags & inspect.CO_COROUTINE:
        anyio.run(types.FunctionType(code, namespace))
    else:
        exec(code, namespace)


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(REPO)))
def test_snippets_run_in_their_order(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Python blocks of a document run one after the other as one program in an empty folder."""
    module = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    monkeypatch.chdir(tmp_path)
    for snippet in snippets(document):
        code = _compile(snippet)
        if snippet.no_run is None:
            _run(code, module.__dict__)


def test_the_fences_of_documents_are_read_rightly(tmp_path: Path) -> None:
    """Only blocks fenced as python count, indented or not; a reason holds for the next block."""
    page = tmp_path / "page.md"
    page.write_text(
        "```text\n```python\nno = 1\n```\n\n<!-- no-run: needs a key -->\n\n"
        "```python\na = 1\n```\n- item\n  ```python\n  b = 2\n  ```\n"
    )
    found = [(s.line, s.text, s.no_run) for s in snippets(page)]
    assert found == [(9, "a = 1\n", "needs a key"), (13, "b = 2\n", None)]


def test_a_failing_snippet_fails(tmp_path: Path) -> None:
    """An exception in a snippet reaches the test, with the line of the document."""
    page = tmp_path / "page.md"
    page.write_text("text\n\n```python\nimport anyio\nawait anyio.sleep(0)\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as caught:
        _run(_compile(snippets(page)[0]), {})
    assert caught.traceback[-1].lineno == 5  # counted from 0
