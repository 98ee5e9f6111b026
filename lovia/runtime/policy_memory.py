"""The memory of context policies as a run carries it: JSON, and a name for what is in it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from lovia.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["revision_of"]

# A policy that names each content of its memory spares everybody the comparison of the contents.
_REVISION: Final = "revision"


def revision_of(state: Mapping[str, Any]) -> str:
    """Return a name for the content of a memory: another content has another name.

    A part that is an object with a ``revision`` stands for itself by that; of everything else the
    JSON text is hashed, so its cost grows with its size.

    Raises:
        UserError: Something in it is not JSON; the message names the policy.
    """
    digest = hashlib.blake2b(digest_size=16)
    for policy, memory in sorted(state.items()):
        parts = memory.items() if isinstance(memory, dict) else [("", memory)]
        for key, part in sorted(parts, key=lambda item: str(item[0])):
            named = part.get(_REVISION) if isinstance(part, dict) else None
            try:
                content = named if isinstance(named, str) else json.dumps(part, sort_keys=True)
            except (TypeError, ValueError, RecursionError) as error:
                message = f"The memory of the policy {policy} cannot be saved: {error}"
                raise UserError(message, hint="Keep only JSON values in ctx.state.") from error
            digest.update(f"{policy}\0{key}\0{content}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
