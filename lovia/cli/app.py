"""The commands as the command line sees them; what they do lies in a module each."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter

from lovia.cli.console import error_console, printable
from lovia.errors import LoviaError
from lovia_otel import TelemetryError

__all__ = ["app", "run_command"]

_BAD_INPUT = 2

app: App = App(
    name="lovia",
    help="Watch how an agent's context is compacted: live, in recordings, and in exported traces.",
    version=lambda: version("lovia"),
    result_action="return_value",
)


def run_command(arguments: Sequence[str] | None) -> int:
    """Parse the arguments, run the command, and turn errors into exit codes."""
    try:
        code = app(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        return _refuse(str(error), "lovia --help and lovia COMMAND --help show what there is.")
    except (LoviaError, TelemetryError) as error:
        return _refuse(error.message, error.hint)
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _refuse(f"{where}{error.strerror or error}", None)
    return code if isinstance(code, int) else 0


def _refuse(message: str, hint: str | None) -> int:
    console = error_console()
    console.print(f"lovia: {printable(message, limit=1000)}", style="red", soft_wrap=True)
    if hint:
        console.print(f"hint: {printable(hint, limit=1000)}", soft_wrap=True)
    return _BAD_INPUT


def _tokens(_type: object, words: Sequence[object]) -> int:
    """Read a number of tokens: 128000, 128_000 or 128k (k is a thousand)."""
    text = str(getattr(words[0], "value", words[0])).replace("_", "").replace(",", "").lower()
    number = int(text.removesuffix("k")) * (1000 if text.endswith("k") else 1)
    if number < 1:
        raise ValueError("a window has at least one token")
    return number


Window = Annotated[int, Parameter(converter=_tokens, show_default=True)]
Otlp = Annotated[str | None, Parameter(name="--otlp")]
Json = Annotated[bool, Parameter(name="--json", negative="", show_default=False)]
Report = Annotated[Path | None, Parameter(name="--report")]
Flag = Annotated[bool, Parameter(negative="", show_default=False)]


Settings = Annotated[
    Sequence[str], Parameter(consume_multiple=True, negative="", show_default=False)
]


@app.command
def demo(*, out: Path | None = None, otlp: Otlp = None, picture: Path | None = None) -> int:
    """Watch a real agent session outgrow its window and be compacted; no key needed.

    Args:
        out: Folder for trace, report and archive; a new temporary one by default.
        otlp: Export to an OTLP receiver as well, such as http://localhost:4318.
        picture: Draw the printed session into this SVG file.
    """
    from lovia.cli.demo import run_demo

    return run_demo(out, otlp, picture)


@app.command
def replay(  # noqa: PLR0913 - one parameter an option
    *files: str,
    window: Window = 128_000,
    policy: Settings = (),
    summarizer: str = "extractive",
    feed_usage: Flag = False,
    otlp: Otlp = None,
    report: Report = None,
    json: Json = False,
    timing: Flag = False,
    every: Flag = False,
) -> int:
    """Send recorded transcripts through the policy, call by call as they grew.

    Args:
        files: Transcripts in any format that lovia reads.
        window: The model's context window in tokens; 128k is 128000.
        policy: Settings of the policy, such as trigger_ratio=0.7; or noop; or module:attribute.
        summarizer: extractive (no model call), openai:MODEL or anthropic:MODEL.
        feed_usage: Hand the token counts recorded beside a transcript to the policy.
        otlp: Export spans, metrics and events to an OTLP receiver.
        report: Write an HTML report to this file.
        json: Print one JSON document instead of tables.
        timing: Add durations to the JSON; without them equal input gives equal output.
        every: Print a row for every call, quiet ones too.
    """
    from lovia.cli.replaying import ReplayRequest, run_replay

    words = [word for word in policy if not _is_file(word)]
    return run_replay(
        ReplayRequest(
            files=(*files, *(word for word in policy if _is_file(word))),
            window=window,
            policy=" ".join(words),
            summarizer=summarizer,
            feed_usage=feed_usage,
            otlp=otlp,
            report=report,
            json=json,
            timing=timing,
            every=every,
        )
    )


@app.command
def compare(
    *files: str,
    policy: Annotated[list[str], Parameter(negative="")],
    window: Window = 128_000,
    summarizer: str = "extractive",
    json: Json = False,
    timing: Flag = False,
) -> int:
    """Send the same recorded transcripts through several policies, side by side.

    Args:
        files: Transcripts in any format that lovia reads.
        policy: One policy each time: settings such as "trigger_ratio=0.7 max_entries=40"; default;
            noop; or module:attribute.
        window: The model's context window in tokens; 128k is 128000.
        summarizer: extractive (no model call), openai:MODEL or anthropic:MODEL.
        json: Print one JSON document instead of tables.
        timing: Add durations to the JSON.
    """
    from lovia.cli.comparing import CompareRequest, run_compare

    return run_compare(
        CompareRequest(
            files=files,
            policies=tuple(policy),
            window=window,
            summarizer=summarizer,
            json=json,
            timing=timing,
        )
    )


@app.command
def inspect(*files: str, format: str | None = None, json: Json = False) -> int:
    """Show what is in a transcript: sizes, largest results, batches, and what is odd.

    Args:
        files: Transcripts in any format that lovia reads.
        format: The format's name; detected by default.
        json: Print one JSON document instead of tables.
    """
    from lovia.cli.inspecting import run_inspect

    return run_inspect(files, format=format, as_json=json)


@app.command
def view(*files: Path, every: Flag = False) -> int:
    """Show the compaction story of an exported trace as a span tree.

    Args:
        files: OTLP JSON lines, as the file exporter writes them.
        every: Show all spans, quiet turns and tools too.
    """
    from lovia.cli.viewing import run_view

    return run_view(files, every=every)


def _is_file(word: str) -> bool:
    """Tell whether a word after --policy is a file: options may stand before the files."""
    from lovia.cli.settings import is_policy_word

    return not is_policy_word(word) or (":" in word and Path(word).exists())
