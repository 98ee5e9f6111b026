"""Where a request is cut for the vendor's prompt cache.

The cache serves the longest earlier request that ends at one of the marks (or up to 20 blocks
before one), so a conversation that only grows is marked in three places: behind what never changes,
where the previous request ended, and at its end, for the next request. The vendor allows four.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

__all__ = ["CacheLifetime", "mark_for_cache"]

CacheLifetime: TypeAlias = Literal["5m", "1h"]

_NEWEST: Final = 2


def mark_for_cache(body: dict[str, Any], lifetime: CacheLifetime) -> None:
    """Mark a request's blocks, in place.

    Args:
        body: The request.
        lifetime: How long the vendor keeps what it read.
    """
    mark = {"type": "ephemeral", **({} if lifetime == "5m" else {"ttl": lifetime})}
    head = body.get("system") or body.get("tools")
    heads = [head[-1]] if head else []
    users = [message for message in body["messages"] if message["role"] == "user"]
    for block in (*heads, *(message["content"][-1] for message in users[-_NEWEST:])):
        block["cache_control"] = mark
