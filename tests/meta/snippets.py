"""Runs the Python snippets of one document, in their order, as one program.

python -m tests.meta.snippets DOCUMENT
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
from pathlib import Path
from typing import Any

import anyio

from tests.meta.documents import Snippet, files, snippets


def run_document(document: Path) -> None:
    """Run the snippets of `document` in one namespace; those marked `no-run` are only compiled.

    The files that it shows lie where they run.
    """
    for name, text in files(document).items():
        Path(name).write_text(text, encoding="utf-8")
    program = types.ModuleType("__main__")
    sys.modules["__main__"] = program  # where pickles and dataclasses look for what is defined here
    for snippet in snippets(document):
        code = compile_snippet(snippet)
        if snippet.no_run is None:
            run_code(code, program.__dict__)


def compile_snippet(snippet: Snippet) -> types.CodeType:
    """Compile a snippet so that errors point into its document; it may await at its top level."""
    text = "\n" * (snippet.line - 1) + snippet.text
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code: types.CodeType = compile(
        text, str(snippet.document), "exec", flags=flags, dont_inherit=True
    )
    return code


def run_code(code: types.CodeType, namespace: dict[str, Any]) -> None:
    """Run compiled code, on an event loop if it awaits."""
    if code.co_flags & inspect.CO_COROUTINE:
        anyio.run(types.FunctionType(code, namespace))
    else:
        exec(code, namespace)


if __name__ == "__main__":
    run_document(Path(sys.argv[1]))
