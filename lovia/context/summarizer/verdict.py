"""Whether a model's reply is a summary, and if not, what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lovia.context.summarizer.prompts import missing_sections
from lovia.context.summarizer.substance import says_nothing, without_instructions
from lovia.errors import SummaryRejected
from lovia.transcript.entries import ReasoningEntry
from lovia.transcript.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.providers.reply import ModelReply

__all__ = ["Verdict", "judge"]

_CUT_OFF: Final = frozenset(
    {
        *("length", "max_tokens", "max_output_tokens", "max_completion_tokens", "model_length"),
        *("incomplete", "model_context_window_exceeded"),
    }
)
_BLOCKED: Final = frozenset(
    {
        *("refusal", "content_filter", "safety", "recitation"),
        *("prohibited_content", "blocklist", "spii", "guardrail_intervened"),
    }
)
#: A refusal that the provider does not mark: a short text without headings that begins like one.
_REFUSAL: Final = re.compile(
    r"\W*(?:i\W?m (?:really |very )?sorry|sorry|i apologi[sz]e|i (?:can\W?t|cannot|can not"
    r"|am not able to|am unable to|won\W?t)|i\W?m (?:not able|unable) to|as an ai\b"
    r"|抱歉|对不起|很抱歉|我(?:无法|不能)|作为(?:一个|一名)?(?:ai|人工智能))",
    re.IGNORECASE,
)
_MAX_REFUSAL: Final = 500

_REASONS: Final = {
    "empty": "The model's answer says nothing.",
    "refusal": "The model refused to summarise.",
    "length": "The summary was cut off by the output limit.",
    "tool_call": "The model answered with a tool call.",
    "reasoning_only": "The model thought, and gave no answer.",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reply is worth.

    Attributes:
        text: Its text; also of a rejected reply.
        rejection: Why it is no summary (a reason of :class:`~lovia.errors.SummaryRejected`), or
            ``None``.
        missing: Required sections that the text lacks.
    """

    text: str
    rejection: str | None = None
    missing: Sequence[str] = ()

    @property
    def usable(self) -> bool:
        """Whether the text may stand as a summary, perhaps without some of its sections."""
        return self.rejection is None

    @property
    def worth_a_retry(self) -> bool:
        """Whether asking once more can help."""
        return bool(self.missing) if self.usable else self.rejection in {"empty", "length"}

    def error(self) -> SummaryRejected:
        """Return the rejection as an error."""
        reason = self.rejection or "empty"
        return SummaryRejected(_REASONS[reason], reason=reason)


def judge(reply: ModelReply, required: Sequence[str]) -> Verdict:
    """Tell whether a reply is a summary with the required sections."""
    text = without_instructions(_without_thoughts(clean_text(reply.text))).strip()
    finish = (reply.finish_reason or "").lower()
    if finish in _BLOCKED:
        return Verdict(text, "refusal")
    if says_nothing(text, required):
        return Verdict(text, _why_nothing(reply, finish, text))
    if finish in _CUT_OFF:
        return Verdict(text, "length")
    missing = missing_sections(text, required)
    headless = len(missing) == len(required)
    if headless and len(text) <= _MAX_REFUSAL and _REFUSAL.match(text):
        return Verdict(text, "refusal")
    if headless and required and reply.calls:  # a remark on its way to calling a tool
        return Verdict(text, "tool_call")
    return Verdict(text, missing=missing)


def _why_nothing(reply: ModelReply, finish: str, text: str) -> str:
    if reply.calls:
        return "tool_call"
    thought = "</think>" in reply.text or any(
        isinstance(entry, ReasoningEntry) for entry in reply.entries()
    )
    if thought and not text:
        return "reasoning_only"
    return "length" if finish in _CUT_OFF else "empty"


def _without_thoughts(text: str) -> str:
    """Drop the thoughts that some models write into their text before they answer."""
    start = text.lstrip()
    if not start.startswith("<think>"):
        return text
    return start.partition("</think>")[2]
