"""The demo's model: it follows a script, so that no key and no network is needed.

What it asks of the tools is fixed; what they answer is real, and so are all sizes. It also writes
the summaries that compaction asks for, in the sections that the request names.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from lovia.testing import ScriptedProvider, call, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lovia.demo.workspace import Workspace
    from lovia.testing import AssistantTurn, ScriptedRequest
    from lovia.transcript.entries import ToolCallEntry

__all__ = ["READINGS", "TASK", "describe_call", "scripted_model"]

TASK: Final = (
    "Find out how this code base keeps an agent's requests inside the model's context window. "
    "Read the source, check a few facts by running Python, and report with file names."
)
#: Characters of source that one reading takes at most: about 2,600 tokens.
_SLICE: Final = 9_000
_NUMBERED: Final = 7  # characters that a line's number and its end add
_SHOWN: Final = 40  # characters of a call's argument in a table

_WALK: Final = "import ast, pathlib\nfiles = list(pathlib.Path({folder!r}).rglob('*.py'))\n"
#: What is checked by running Python, and the program.
_CHECKS: Final = (
    ("How many modules are there?", _WALK + "print(len(files))"),
    ("How many lines?", _WALK + "print(sum(len(f.read_bytes().splitlines()) for f in files))"),
    (
        "Which module is the longest?",
        _WALK + "print(*max((len(f.read_bytes().splitlines()), f.name) for f in files))",
    ),
    (
        "How many functions are there?",
        _WALK + "trees = [ast.walk(ast.parse(f.read_bytes())) for f in files]\n"
        "kinds = (ast.FunctionDef, ast.AsyncFunctionDef)\n"
        "print(sum(isinstance(node, kinds) for tree in trees for node in tree))",
    ),
    ("Which Python is this?", "import sys; print(sys.version.split()[0])"),
    (
        "What does half of a surrogate pair do to a request?",
        "try:\n    '\\ud83d'.encode()\nexcept UnicodeEncodeError as error:\n    print(error)",
    ),
)
#: What is searched for: first a word that finds far more than anybody can use, as searches do.
_TOO_COMMON: Final = "the"
_SEARCHES: Final = ("apply_reactive", "reported_window")
#: What is read, and the note that the model makes of it before it goes on.
READINGS: Final = {
    "context/policy.py": (
        "A policy gets the transcript and returns a view of it: a new list that one call sends. "
        "The transcript itself is never edited. Sizes have one meaning each: the history is the "
        "whole transcript as a request, the request is what is sent, freed is what one pass took "
        "off, and saved compares the request with the history, capped at the window."
    ),
    "transcript/pairing.py": (
        "Calls and results pair by occurrence, because real histories reuse ids. A unit is what "
        "has to stay together: the thought, its calls and their results. A cut is legal between "
        "units only, so that no provider ever sees a result without its call."
    ),
    "context/compacting.py": (
        "The default policy is a pipeline. On every new batch the tool-result budget is applied. "
        "Above the trigger the middle is snipped, old results are cleared, and only then a model "
        "is asked for a summary, down to the target. Between trigger and target nothing happens, "
        "so that passes are rare and prompt caches stay warm."
    ),
    "transcript/entries.py": (
        "Entries are immutable values. They compare by content, and what is expensive to derive "
        "from one, its digest or its token count, is remembered on the entry itself."
    ),
    "tokens/tokenizer.py": (
        "With a vocabulary tokens are counted, in slices, so that one long word takes no quadratic "
        "time. Without one they are estimated from bytes, and each size says which it is."
    ),
    "runtime/loop.py": (
        "A run asks its policy before each model call and sends the view that comes back. However "
        "a run ends, its stream ends with exactly one last event."
    ),
    "runtime/model_turn.py": (
        "A refusal for size goes to the policy's apply_reactive, and the request is sent again "
        "only if it really got smaller. What a call reports as spent counts however it ends."
    ),
    "errors.py": (
        "Every error carries a hint. A refusal for size is an error of its own, which names the "
        "window that the provider reported; that is how the policy learns the real one."
    ),
    "testing.py": (
        "A scripted provider answers from a list, refuses what is larger than its window, and "
        "reports what it counted, which is how this session was made."
    ),
    "replay/engine.py": (
        "A recorded transcript can be sent through a policy call by call, as it grew. Every view "
        "is checked against what providers accept, and the transcript is proven untouched."
    ),
}
_ANSWER: Final = (
    "Requests stay inside the window by a pipeline of stages (context/compacting.py): "
    "oversized tool results are archived as they arrive, the middle is snipped, old "
    "results are cleared, and only then a model writes a summary. Each decision is kept "
    "and replayed, the transcript stays whole, and a refused request teaches the policy "
    "the endpoint's real window."
)


def scripted_model(workspace: Workspace, *, window: int) -> ScriptedProvider:
    """Return the model of the demo.

    Args:
        workspace: The folder that its calls refer to.
        window: The window in tokens that the endpoint serves; a larger request is refused.
    """
    return ScriptedProvider(
        _numbered(_turns(workspace)),
        name="scripted",
        model="demo-model",
        window=window,
        usage="counted",
        summarize=_summary,
    )


def describe_call(entry: ToolCallEntry) -> str:
    """Return a call in a few words: the tool, and its main argument's last line."""
    try:
        arguments = json.loads(entry.arguments)
    except ValueError:
        arguments = {}
    main = str(next(iter(arguments.values()), "")) if isinstance(arguments, dict) else ""
    main = main.rpartition("\n")[2].strip()
    shown = main if len(main) <= _SHOWN else main[: _SHOWN - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return f"{entry.name} {shown}".rstrip()


def _turns(workspace: Workspace) -> Iterator[AssistantTurn]:
    """Yield the script: an overview, a search that finds too much, checks, readings, the answer."""
    folder = workspace.package
    overview = {"path": folder, "suffix": ".py"}
    yield _saying("First an overview of the source.", call("list_files", overview))
    yield _saying("Where is anything said?", call("search_files", _lines_with(_TOO_COMMON, folder)))
    for question, program in _CHECKS:
        code = program.replace("{folder!r}", repr(folder))
        yield _saying(question, call("run_python", {"code": code}))
    for word in _SEARCHES:
        yield _saying(f"Who knows {word}?", call("search_files", _lines_with(word, folder)))
    note = "Now the source itself."
    for file, learned in READINGS.items():
        reading = _reading(workspace, f"{folder}/{file}".removeprefix("./"))
        if reading is not None:
            yield _saying(note, call("read_file", reading))
            note = f"{file}: {learned}"
    yield text(f"{note}\n\n{_ANSWER}")


def _lines_with(word: str, folder: str) -> dict[str, str]:
    return {"text": word, "path": folder}


def _reading(workspace: Workspace, path: str) -> dict[str, Any] | None:
    """Return a call that reads a file as far as one reading goes; ``None`` when there is none."""
    file = workspace.root / path
    if not file.is_file():
        return None
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    ends = accumulate(len(line) + _NUMBERED for line in lines)
    return {"path": path, "start": 1, "lines": sum(end <= _SLICE for end in ends)}


def _saying(content: str, turn: AssistantTurn) -> AssistantTurn:
    return replace(turn, content=content)


def _numbered(turns: Iterator[AssistantTurn]) -> Iterator[AssistantTurn]:
    """Give each call an id of its own, as providers do."""
    for number, turn in enumerate(turns, 1):
        calls = tuple(
            replace(asked, id=f"call_{number:02}_{position}")
            for position, asked in enumerate(turn.tool_calls, 1)
        )
        yield replace(turn, tool_calls=calls)


def _summary(request: ScriptedRequest) -> AssistantTurn:
    """Write the summary that a request asks for, as short as a good model would."""
    asked = str(request.entries[-1])
    read = [file for file in READINGS if file in asked]
    return text(
        f"## Goal\n{TASK}\n\n"
        "## Constraints\nName files and lines exactly.\n\n"
        "## Decisions\nRead the policy first, then what it is built on.\n\n"
        f"## State\nRead so far: {', '.join(read) or 'the listing'}. A policy returns a view and "
        "never edits the transcript; calls and results stay paired; stages run cheapest first.\n\n"
        "## Problems\nnone\n\n"
        "## Planned\nThe assistant meant to read the remaining modules and then to report."
    )
