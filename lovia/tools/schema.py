"""A function's parameters as one JSON object: the schema a model sees, and the way to a call."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from lovia.errors import InvalidToolArguments, UserError
from lovia.tools.docstrings import read_docstring

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "FunctionArguments",
    "is_strictable",
    "json_schema_of",
    "strict_schema",
    "untitled",
]

# An annotation that names the run context but cannot be evaluated (imported for typing only).
_CONTEXT_NAME: Final = re.compile(r"(?:\w+\.)*RunContext(?:\[.*\])?")
_MAX_PROBLEMS: Final = 8  # a model corrects the first few; the rest is noise
_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class FunctionArguments:
    """How the JSON object that a model writes becomes the arguments of a function.

    Attributes:
        schema: JSON schema of the object.
        takes_context: Whether the first parameter is the run context, which the model never sees.
        model: The pydantic model that validates the object.
        names: The function's parameter for each field of the model.
        positional: Names of parameters that have to be passed by position.
        tool: The tool's name, for messages.
    """

    schema: dict[str, Any]
    takes_context: bool
    model: type[BaseModel]
    names: Mapping[str, str]
    positional: tuple[str, ...]
    tool: str

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        *,
        tool: str,
        strict: bool = False,
        local_names: Mapping[str, Any] | None = None,
    ) -> FunctionArguments:
        """Read a function's signature.

        Args:
            function: The function; its annotations, defaults and docstring count.
            tool: The tool's name, for messages.
            strict: Require every property and forbid all others, at every depth.
            local_names: Names visible where the function was defined.

        Raises:
            UserError: A parameter cannot be described to a model; the message names it.
        """
        parameters = list(inspect.signature(function).parameters.values())
        scope = _Scope(function, tool, local_names or {})
        takes_context = bool(parameters) and scope.is_context(parameters[0])
        parameters = parameters[1:] if takes_context else parameters
        model, names = _arguments_model(scope, parameters)
        schema = json_schema_of(model, tool)
        return cls(
            schema=strict_schema(schema) if strict else schema,
            takes_context=takes_context,
            model=model,
            names=names,
            positional=tuple(p.name for p in parameters if p.kind is p.POSITIONAL_ONLY),
            tool=tool,
        )

    def bind(self, args: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Validate the object and return positional and keyword arguments for the function.

        Raises:
            InvalidToolArguments: The object does not fit; the message lists what is wrong where.
        """
        try:
            values = self.model.model_validate(dict(args))
        except ValidationError as error:
            raise InvalidToolArguments(_explain(error, self.tool), tool=self.tool) from error
        named = {parameter: getattr(values, field) for field, parameter in self.names.items()}
        named.update(values.model_extra or {})
        return [named.pop(name) for name in self.positional], named


def json_schema_of(model: type[BaseModel], tool: str) -> dict[str, Any]:
    """Return a model's JSON schema without titles, which cost tokens and say nothing.

    Raises:
        UserError: A type in the model has no JSON schema.
    """
    try:
        schema: dict[str, Any] = untitled(model.model_json_schema())
    except PydanticUserError as error:
        message = f"The parameters of tool {tool!r} have no JSON schema: {error.message}"
        raise UserError(message, hint="Use types that JSON can express.") from error
    schema.pop("description", None)
    schema.setdefault("properties", {})
    return schema


def strict_schema(schema: Any) -> Any:
    """Return a copy in which every object requires all its properties and forbids others.

    This is what vendors call strict mode. Defaults are left out, as no value may be omitted.
    """
    if isinstance(schema, list):
        return [strict_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copied = {
        key: {name: strict_schema(inner) for name, inner in value.items()}
        if key in _NAME_MAPS
        else strict_schema(value)
        for key, value in schema.items()
        if key != "default"
    }
    if "properties" in copied:
        copied["additionalProperties"] = False
        copied["required"] = list(copied["properties"])
    return copied


# Keys whose value maps the user's own names to schemas: "title" or "default" may be such a name.
_NAME_MAPS: Final = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})


def is_strictable(schema: Any) -> bool:
    """Tell whether strict mode can express a schema: no object in it may have free keys."""
    if isinstance(schema, list):
        return all(map(is_strictable, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" and "properties" not in schema:
        return False
    return all(
        all(map(is_strictable, value.values())) if key in _NAME_MAPS else is_strictable(value)
        for key, value in schema.items()
    )


def untitled(schema: Any) -> Any:
    """Return a copy of a schema without titles."""
    if isinstance(schema, list):
        return [untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: untitled(inner) for name, inner in value.items()}
        if key in _NAME_MAPS
        else untitled(value)
        for key, value in schema.items()
        if key != "title"
    }


class _Scope:
    """The names that a function's annotations may use."""

    def __init__(
        self, function: Callable[..., Any], tool: str, local_names: Mapping[str, Any]
    ) -> None:
        plain = inspect.unwrap(getattr(function, "func", function))  # partials and decorators
        if not inspect.isroutine(plain):
            plain = type(plain).__call__
        self.function = plain
        self.tool = tool
        self._globals = getattr(plain, "__globals__", {})
        self._locals = dict(local_names)

    def is_context(self, parameter: inspect.Parameter) -> bool:
        """Tell whether a parameter is annotated as the run context."""
        annotation = parameter.annotation
        if isinstance(annotation, str) and _CONTEXT_NAME.fullmatch(annotation.strip("'\" ")):
            return True
        annotation = annotation if annotation is parameter.empty else self.evaluate(parameter)
        return bool(getattr(get_origin(annotation) or annotation, "__lovia_run_context__", False))

    def evaluate(self, parameter: inspect.Parameter) -> Any:
        """Return the parameter's annotation as a type; text is looked up where it was written."""
        if parameter.annotation is parameter.empty:
            return Any
        holder = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
        try:
            hints = get_type_hints(holder, self._globals, self._locals, include_extras=True)
        except (NameError, AttributeError, SyntaxError, TypeError) as error:
            message = f"Parameter {parameter.name!r} of tool {self.tool!r}: {error}"
            hint = (
                "Import the types of a tool's parameters at run time, not for type checking only."
            )
            raise UserError(message, hint=hint) from error
        return hints[parameter.name]


def _arguments_model(
    scope: _Scope, parameters: list[inspect.Parameter]
) -> tuple[type[BaseModel], dict[str, str]]:
    """Build the model of a function's parameters, and name the parameter behind each field.

    Fields are numbered, so that no parameter can clash with what a model has of its own.
    """
    described = read_docstring(scope.function.__doc__).parameters
    names: dict[str, str] = {}
    fields: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            message = (
                f"Tool {scope.tool!r} takes *{parameter.name}, which JSON objects cannot express."
            )
            raise UserError(message, hint="Take a list instead.")
        if parameter.kind in _VARIADIC:
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        annotation = scope.evaluate(parameter)
        field = f"p{len(fields)}"
        names[field] = parameter.name
        text = _description(annotation, default) or described.get(parameter.name)
        described_field = Field(alias=parameter.name, description=text)
        fields[field] = (Annotated[annotation, described_field], default)
    takes_more = any(p.kind is p.VAR_KEYWORD for p in parameters)
    config = ConfigDict(
        extra="allow" if takes_more else "forbid",
        arbitrary_types_allowed=True,
    )
    model: type[BaseModel] = create_model("Arguments", __config__=config, **fields)
    return model, names


def _description(annotation: Any, default: Any) -> str | None:
    """Return the description in an annotation: a text in ``Annotated``, or a ``Field``'s."""
    extras = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    texts = [extra for extra in extras if isinstance(extra, str)]
    fields = [extra for extra in (*extras, default) if isinstance(extra, FieldInfo)]
    return next((text for text in (*texts, *(f.description for f in fields)) if text), None)


def _explain(error: ValidationError, tool: str) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    listed = "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}"
        for problem in problems[:_MAX_PROBLEMS]
    )
    more = f"; and {len(problems) - _MAX_PROBLEMS} more" if len(problems) > _MAX_PROBLEMS else ""
    return f"Invalid arguments for tool {tool!r}: {listed}{more}"
