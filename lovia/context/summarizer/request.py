"""A whole summary request: what is fixed in it, its data, and what is left for the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lovia.context.summarizer.prompts import (
    correction_for_missing,
    correction_for_no_text,
    correction_for_too_long,
    system_prompt,
    user_prompt,
)
from lovia.context.summarizer.rendering import render_entry
from lovia.context.summarizer.splitting import clip_middle
from lovia.context.summarizer.verdict import Verdict
from lovia.transcript.entries import AssistantTextEntry, InputEntry, TranscriptEntry
from lovia.transcript.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.tokens.counter import TokenCounter

__all__ = ["RequestWriter"]

#: Words that fit a token; English has 0.75, and a model does not count exactly.
_WORDS_PER_TOKEN: Final = 0.6
#: Share of the room that is left free: the tokens of a text are not exactly the sum of its parts',
#: least of all where a counter reads samples.
_SLACK: Final = 1 / 16


@dataclass(frozen=True)
class RequestWriter:
    """Writes and measures the requests of one summary.

    A request is a system entry and a user entry, and for a correction of a summary that lacks
    sections the draft and a second user entry: plain text throughout, roles in alternation, no tool
    calls, so that any chat template takes it.

    Attributes:
        counter: Counts tokens.
        window: The context window in counted tokens, or ``None`` when unknown.
        output: Tokens that the answer may have.
        extra_instructions: The application's own instructions.
        rules: Rules that bind the conversation.
        required: Sections that a summary must have.
        prior_summary: The summary so far.
        focus: What the summary should dwell on.
    """

    counter: TokenCounter
    window: int | None
    output: int
    extra_instructions: str | None = None
    rules: str | None = None
    required: Sequence[str] = ()
    prior_summary: str | None = None
    focus: str | None = None

    def write(self, entries: Sequence[TranscriptEntry]) -> list[TranscriptEntry]:
        """Return the request that summarises ``entries``, which are clipped already."""
        return self._compose("".join(map(render_entry, entries)))

    def correct(
        self, entries: Sequence[TranscriptEntry], verdict: Verdict
    ) -> list[TranscriptEntry]:
        """Return the request that asks again after a reply that is no whole summary."""
        transcript = "".join(map(render_entry, entries))
        if not verdict.usable:
            return self._compose(transcript, note=self._note(verdict))
        draft = verdict.text
        if self.counter.text(draft) > self.output:  # the provider ignored the limit
            draft = clip_middle(draft, len(draft) * self.output // self.counter.text(draft))
        correction = InputEntry("user", correction_for_missing(verdict.missing))
        return [*self._compose(transcript), AssistantTextEntry(draft), correction]

    def size(self, request: Sequence[TranscriptEntry]) -> int:
        """Return the tokens of a request and of the answer to it."""
        return self.counter.entries(request) + self.output

    def room(self) -> int | None:
        """Return the tokens of rendered entries that fit beside everything else.

        Everything else is the fixed text, rules, focus and prior summary, a draft as large as an
        answer with the longest correction after it, and the answer.
        """
        if self.window is None:
            return None
        draft = Verdict("", missing=self.required)
        corrected = self.size(self.correct((), draft)) + self.output
        noted = max(
            self.size(self._compose("", note=correction_for_no_text())),
            self.size(self._compose("", note=correction_for_too_long(self._max_words))),
        )
        return int((self.window - max(corrected, noted)) * (1 - _SLACK))

    @property
    def _max_words(self) -> int:
        return int(self.output * _WORDS_PER_TOKEN)

    def _note(self, verdict: Verdict) -> str:
        if verdict.rejection == "length":
            return correction_for_too_long(self._max_words // 2)
        return correction_for_no_text()

    def _compose(self, transcript: str, note: str | None = None) -> list[TranscriptEntry]:
        extra = clean_text(self.extra_instructions) if self.extra_instructions else None
        prompt = user_prompt(
            transcript,
            prior_summary=self.prior_summary,
            rules=self.rules,
            focus=self.focus,
            note=note,
        )
        return [
            InputEntry("system", system_prompt(self._max_words, extra)),
            InputEntry("user", prompt),
        ]
