"""Who answers: the protocol of a model provider, and what all of them share."""

from __future__ import annotations

from lovia.providers.base import ModelSettings, Provider
from lovia.providers.reply import ModelReply

__all__ = ["ModelReply", "ModelSettings", "Provider"]
