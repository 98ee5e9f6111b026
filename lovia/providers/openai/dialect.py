"""In what the servers that speak OpenAI's Chat Completions differ from each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COMPATIBLE_DIALECT", "OPENAI_DIALECT", "ChatDialect", "Host", "host_of"]


@dataclass(frozen=True)
class ChatDialect:
    """What a server takes, and in which form; the defaults suit a server that nobody knows.

    Attributes:
        system_anywhere: Whether system messages may stand after the beginning. Otherwise they are
            sent as marked text of the user, since many models' templates have one place for them.
        max_tokens: The field for the upper bound of generated tokens.
        call_ids: A regular expression that the ids of calls match.
        raw_arguments: Whether arguments that are no JSON object may be sent as the model wrote
            them. Otherwise they are wrapped into an object, since templates parse them.
        thoughts: Whether the server takes back what its model thought.
        json_schema: Whether the server holds the model to a JSON schema.
        stream_usage: Whether a stream reports usage when ``stream_options`` asks for it.
        reasoning_field: The field that every message with calls must have, if there is one.
        unsigned_call: What a call carries that another model made, if calls need a signature.
    """

    system_anywhere: bool = False
    max_tokens: str = "max_tokens"
    call_ids: str = r"[\x21-\x7e]{1,64}"
    raw_arguments: bool = False
    thoughts: bool = True
    json_schema: bool = False
    stream_usage: bool = True
    reasoning_field: str | None = None
    unsigned_call: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Host:
    """A server that is known by its address.

    Attributes:
        name: Its short name, from the well-known values of the GenAI conventions where they have
            one.
        dialect: How it speaks.
        origin: Whose thoughts come from there: what a server's model thought, only that server can
            read again.
    """

    name: str
    dialect: ChatDialect
    origin: str


#: OpenAI's own; also for gateways that pass requests on to OpenAI.
OPENAI_DIALECT: Final = ChatDialect(
    system_anywhere=True,
    max_tokens="max_completion_tokens",
    call_ids=r"[\x21-\x7e]{1,40}",  # longer ids are refused in Chat Completions
    raw_arguments=True,
    thoughts=False,
    json_schema=True,
)
#: A server that nobody knows.
COMPATIBLE_DIALECT: Final = ChatDialect()
# Both answer 400 to a message with calls that has no reasoning_content, even an empty one.
_THINKING: Final = replace(COMPATIBLE_DIALECT, reasoning_field="reasoning_content")
# Gemini signs calls; this is the signature for those that it did not make.
_GEMINI: Final = replace(
    COMPATIBLE_DIALECT,
    json_schema=True,
    unsigned_call={"google": {"thought_signature": "skip_thought_signature_validator"}},
)

_HOSTS: Final = {
    "api.openai.com": ("openai", OPENAI_DIALECT),
    "openai.azure.com": ("azure.ai.openai", OPENAI_DIALECT),
    "api.deepseek.com": ("deepseek", _THINKING),
    "moonshot.ai": ("moonshot_ai", _THINKING),
    "moonshot.cn": ("moonshot_ai", _THINKING),
    "generativelanguage.googleapis.com": ("gcp.gemini", _GEMINI),
    "api.groq.com": ("groq", COMPATIBLE_DIALECT),
    "api.mistral.ai": ("mistral_ai", replace(COMPATIBLE_DIALECT, call_ids="[a-zA-Z0-9]{9}")),
    "api.perplexity.ai": ("perplexity", COMPATIBLE_DIALECT),
    "api.x.ai": ("x_ai", replace(COMPATIBLE_DIALECT, json_schema=True)),
    "openrouter.ai": ("openrouter", COMPATIBLE_DIALECT),
}


def host_of(base_url: str) -> Host:
    """Return what is known of the server behind an address; one that nobody knows is ``openai``."""
    try:
        host = urlsplit(base_url).hostname or ""
    except ValueError:
        host = ""
    for known, (name, dialect) in _HOSTS.items():
        if host == known or host.endswith(f".{known}"):
            return Host(name, dialect, origin=name)
    return Host("openai", COMPATIBLE_DIALECT, origin=host)
