"""From the words of ``--policy`` and ``--summarizer`` to a policy.

A policy is written as settings, ``trigger_ratio=0.7 keep_recent_entries=20``, which are keywords of
:class:`~lovia.CompactingContextPolicy`; or as ``noop``, which sends everything; or as
``package.module:attribute``, a policy of one's own or what makes one.
"""

from __future__ import annotations

import difflib
import re
import sys
import types
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_origin, get_type_hints

from lovia.context.archive import FileCompactionArchive
from lovia.context.compacting import CompactingContextPolicy
from lovia.context.compat import NoopContextPolicy
from lovia.context.summarizer import ExtractiveSummarizer, LLMSummarizer
from lovia.errors import UserError
from lovia.replay.compare import Contender
from lovia.runtime.models import resolve_provider
from lovia.tokens.estimators import ByteCounter
from lovia.tokens.tokenizer import TiktokenCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lovia.context.policy import ContextPolicy
    from lovia.context.summarizer import Summarizer

__all__ = ["contender", "is_policy_word", "settable", "summarizer_of"]

_NOOP: Final = "noop"
_IMPORT: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_SETTING: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
#: A comma separates settings only where a further setting follows; within a value it makes a list.
_SEPARATOR: Final = re.compile(r"\s+|,(?=[A-Za-z_]\w*=)")
_NOTHING: Final = frozenset({"none", "null", "off"})
_WINDOW: Final = "context_window_tokens"


def is_policy_word(word: str) -> bool:
    """Tell whether a word on the command line is a part of a policy rather than a file."""
    return word == _NOOP or bool(_SETTING.fullmatch(word) or _IMPORT.fullmatch(word))


def summarizer_of(text: str) -> Callable[[], Summarizer]:
    """Return what makes the summarizer that ``--summarizer`` names.

    Raises:
        UserError: It is neither ``extractive`` nor ``vendor:model``, or the vendor's package is
            not installed.
    """
    if text == "extractive":
        return ExtractiveSummarizer
    if ":" not in text:
        message = f"There is no summarizer {text!r}."
        hint = "Use extractive, openai:MODEL or anthropic:MODEL."
        raise UserError(message, hint=hint)
    provider = resolve_provider(text)
    return lambda: LLMSummarizer(provider=provider)


def contender(
    spec: str, *, window: int | None, summarizer: Callable[[], Summarizer] = ExtractiveSummarizer
) -> Contender:
    """Return the policy that a specification describes.

    Args:
        spec: As described at the top of this module; empty for the default policy.
        window: The window in tokens that ``--window`` gives; a setting of its own wins.
        summarizer: Makes the summarizer of a :class:`~lovia.CompactingContextPolicy`.

    Raises:
        UserError: The specification cannot be understood, or the policy refuses its settings.
    """
    words = [word for word in _SEPARATOR.split(spec.strip()) if word]
    if words == [_NOOP]:
        return Contender(_NOOP, NoopContextPolicy, window)
    if len(words) == 1 and _IMPORT.fullmatch(words[0]):
        return Contender(words[0], _imported(words[0]), window)
    settings = dict(_read_setting(word) for word in words)
    window = settings.setdefault(_WINDOW, window)
    label = " ".join(word for word in words) or "default"

    def build() -> ContextPolicy:
        return CompactingContextPolicy(summarizer=summarizer(), **settings)

    _try(build, label)
    return Contender(label, build, window)


def _read_setting(word: str) -> tuple[str, Any]:
    found = _SETTING.fullmatch(word)
    if found is None:
        message = f"{word!r} is no policy setting."
        hint = f"Write name=value, {_NOOP}, or package.module:attribute."
        raise UserError(message, hint=hint)
    name, text = found.groups()
    kinds = settable()
    if name not in kinds:
        near = difflib.get_close_matches(name, kinds, n=3, cutoff=0.5)
        known = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(kinds)}."
        raise UserError(f"The policy has no setting {name!r}.", hint=known)
    return name, kinds[name].read(name, text)


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a setting is written, and what reads it."""

    words: str
    convert: Callable[[str], Any]
    optional: bool = False

    def read(self, name: str, text: str) -> Any:
        if self.optional and text.lower() in _NOTHING:
            return None
        try:
            return self.convert(text)
        except ValueError:
            wanted = self.words + (" or none" if self.optional else "")
            raise UserError(
                f"{name} is {wanted}, not {text!r}.", hint=f"Write {name}=..."
            ) from None


def settable() -> Mapping[str, _Kind]:
    """Return the policy's keywords that can be written as text, from its own signature."""
    hints = get_type_hints(CompactingContextPolicy.__init__)
    special = {
        "archive": _Kind("a folder", FileCompactionArchive, optional=True),
        "token_counter": _Kind("bytes, an encoding or a model", _counter, optional=True),
        "keep_tools": _Kind("names separated by commas", lambda text: tuple(text.split(","))),
    }
    kinds: dict[str, _Kind] = {}
    for name, parameter in signature(CompactingContextPolicy.__init__).parameters.items():
        if name == "self" or parameter.kind is Parameter.VAR_KEYWORD:
            continue
        kind = special.get(name) or _scalar(hints[name])
        if kind is not None:
            kinds[name] = kind
    return kinds


def _scalar(hint: Any) -> _Kind | None:
    """Return how a number is written; nothing for what is no number."""
    alternatives = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    optional = type(None) in alternatives
    if int in alternatives:
        return _Kind("a whole number", _whole, optional)
    if float in alternatives:
        return _Kind("a number", float, optional)
    return None


def _whole(text: str) -> int:
    return int(text.replace("_", ""))


def _counter(text: str) -> Any:
    if text == "bytes":
        return ByteCounter()
    counter = TiktokenCounter(text)
    if not counter.load_blocking():
        message = f"The vocabulary {counter.encoding} cannot be loaded."
        hint = "tiktoken fetches it from the network once; token_counter=bytes needs none."
        raise UserError(message, hint=hint)
    return counter


def _imported(path: str) -> Callable[[], ContextPolicy]:
    module, _, attribute = path.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)  # where people keep a policy that they try out
    try:
        found: Any = import_module(module)
        for name in attribute.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        message = f"There is no policy at {path!r}: {error}"
        raise UserError(message, hint="Write package.module:attribute.") from None
    if callable(getattr(found, "apply", None)) and not isinstance(found, type):
        return lambda: found
    if not callable(found):
        message = f"{path!r} is a {type(found).__name__}, which neither is nor makes a policy."
        raise UserError(
            message, hint="Name a policy, a policy class, or a function that makes one."
        )
    make: Callable[[], ContextPolicy] = found
    return make


def _try(build: Callable[[], ContextPolicy], label: str) -> None:
    """Make the policy once, so that settings which do not go together are refused early."""
    try:
        build()
    except (TypeError, ValueError) as error:
        message = f"The policy refuses the settings {label!r}: {error}"
        raise UserError(message, hint="Change the values.") from None
