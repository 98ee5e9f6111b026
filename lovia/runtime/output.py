"""The shape of the final answer: what the model is told, and how its text becomes a value."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio.to_thread
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from lovia.errors import OutputValidationError, UserError
from lovia.tools.schema import is_strictable, strict_schema, untitled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["OutputRepairStrategy", "OutputType", "output_type", "repair_prompt"]

_FENCED: Final = re.compile(r"\s*```(?:json)?\s*\n(?P<body>.*?)\n?\s*```\s*", re.DOTALL)
_NO_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]+")
_OPENING: Final = re.compile(r"[\[{]")
_MAX_OPENINGS: Final = 32  # brackets in an answer that are tried; each may cost a walk to its end
_SHOWN: Final = 500  # characters of a refused answer that its error quotes
_INSTRUCTIONS: Final = (
    "When you are done, answer with one JSON value and nothing else: no explanation, no code "
    "fence. It has to fit this JSON schema:\n{schema}"
)
_REPAIR: Final = (
    "That answer does not have the requested form. {problem}\n"
    "Answer again with one JSON value that fits the schema, and nothing else."
)


class OutputRepairStrategy(Protocol):
    """Decides what the model is told when its answer does not have the requested form."""

    def build_prompt(self, exc: OutputValidationError, attempt: int) -> str | None:
        """Return the user message for the next try, or ``None`` to give up.

        Args:
            exc: What is wrong with the answer.
            attempt: 1 after the first answer that did not fit, 2 after the second, ...
        """
        ...


async def output_type(kind: Any) -> OutputType | None:
    """Return the output type, or ``None`` when the answer is plain text.

    Made in a worker thread: a large type takes its time, and the first one looks for plugins.
    """
    if kind is None or kind is str or kind is Any:
        return None
    return await anyio.to_thread.run_sync(OutputType, kind)


class OutputType:
    """A type that the final answer has to have.

    Args:
        kind: Anything pydantic can validate: a model, dataclass, ``TypedDict``, ``list[int]``, ...

    Attributes:
        name: The type's name, for people and vendors.
        schema: Its JSON schema.

    Raises:
        UserError: The type has no JSON schema.
    """

    def __init__(self, kind: Any) -> None:
        self.name: str = str(getattr(kind, "__name__", kind))
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
            self.schema: dict[str, Any] = untitled(self._adapter.json_schema())
        except (PydanticUserError, TypeError) as error:
            message = f"The output type {self.name} has no JSON schema: {error}"
            raise UserError(message, hint="Use a type that JSON can express.") from error

    @property
    def instructions(self) -> str:
        """What a model is told whose provider takes no schema."""
        return _INSTRUCTIONS.format(schema=json.dumps(self.schema, ensure_ascii=False))

    def response_format(self) -> Mapping[str, Any] | None:
        """Return the schema as requests carry it, or ``None`` for types that are no JSON object."""
        if self.schema.get("type") != "object":
            return None
        strict = is_strictable(self.schema)
        return {
            "type": "json_schema",
            "json_schema": {
                "name": _NO_NAME.sub("_", self.name)[:64],
                "schema": strict_schema(self.schema) if strict else self.schema,
                "strict": strict,
            },
        }

    def parse(self, text: str) -> Any:
        """Return the value that an answer holds; a code fence or talk around it is forgiven.

        Raises:
            OutputValidationError: The answer holds no JSON, or JSON of another form.
        """
        try:
            return self._first_valid(_values_in(text))
        except ValidationError as error:
            raise self._refused(_explain(error), text) from error
        except (ValueError, RecursionError) as error:
            raise self._refused(f"It is no JSON: {error}", text) from error

    def _first_valid(self, values: Iterator[Any]) -> Any:
        """Return the first value that has the type; raises what is wrong with the first of all."""
        refused: ValidationError | None = None
        for value in values:
            try:
                return self._adapter.validate_python(value)
            except ValidationError as error:
                refused = refused or error
        assert refused is not None  # noqa: S101 - without any value the iterator raises
        raise refused

    def _refused(self, problem: str, text: str) -> OutputValidationError:
        return OutputValidationError(
            f"The answer is no {self.name}. {problem}",
            hint="Allow repairs with Agent(output_repair=...), or ask for a simpler type.",
            raw=text[:_SHOWN],
            output_type_name=self.name,
        )


def _values_in(text: str) -> Iterator[Any]:
    """Yield the JSON value that a text is; else the objects and lists that stand in it, in order.

    Raises:
        ValueError: There is none; it tells why the text as a whole is none.
    """
    fenced = _FENCED.fullmatch(text)
    try:
        yield json.loads(fenced["body"] if fenced else text)
        return
    except (ValueError, RecursionError) as error:
        whole = error
    found, end, decoder = False, 0, json.JSONDecoder()
    for opening in islice(_OPENING.finditer(text), _MAX_OPENINGS):
        if opening.start() < end:
            continue  # inside of a value that was yielded
        try:
            value, end = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            continue
        found = True
        yield value
    if not found:
        raise whole


def _explain(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    first = problems[0]
    where = ".".join(map(str, first["loc"])) or "the value"
    more = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
    return f"{where}: {first['msg']}{more}."


def repair_prompt(
    strategy: bool | OutputRepairStrategy,  # noqa: FBT001 - True and False are the common strategies
    error: OutputValidationError,
    attempt: int,
) -> str | None:
    """Return what the model is told after an answer that did not fit, or ``None`` to give up.

    ``True`` stands for one repair, ``False`` for none.
    """
    if isinstance(strategy, bool):
        return _REPAIR.format(problem=error.message) if strategy and attempt == 1 else None
    return strategy.build_prompt(error, attempt)
