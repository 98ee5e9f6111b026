"""Where requests to OpenAI's protocols go, by arguments or by the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lovia.providers.sdk import Endpoint, setting

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["openai_endpoint"]

_BASE_URL: Final = "https://api.openai.com/v1"
# Sent to a server of one's own, which usually asks for none; one that does answers 401.
_NO_KEY: Final = "none"


def openai_endpoint(
    *,
    base_url: str | None,
    api_key: str | None,
    timeout: float,
    headers: Mapping[str, str] | None,
    client: Any,
) -> Endpoint:
    """Return the endpoint for a provider.

    Args:
        base_url: The address; else that of ``client``, else ``OPENAI_BASE_URL``, else OpenAI's.
        api_key: The key; else ``OPENAI_API_KEY``.
        timeout: Seconds without a byte from the server.
        headers: Sent with every request.
        client: A client of the SDK that the user has made.
    """
    own = str(getattr(client, "base_url", None) or "") or None
    address = base_url or own or setting(None, "OPENAI_BASE_URL") or _BASE_URL
    key = setting(api_key, "OPENAI_API_KEY")
    if key is None and address.rstrip("/") != _BASE_URL:
        key = _NO_KEY
    return Endpoint(address, key, timeout, tuple(sorted((headers or {}).items())))
