"""What one model call sends, how large it is, and how much of the last request it repeats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lovia.context.policy import ContextSizes
from lovia.providers.base import provider_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lovia.context.policy import ContextPolicyResult
    from lovia.runtime.activation import ActiveAgent
    from lovia.tokens.counter import TokenCounter
    from lovia.transcript.entries import TranscriptEntry

__all__ = ["ModelRequest", "RequestLog"]


@dataclass(frozen=True)
class ModelRequest:
    """One request.

    Attributes:
        entries: The system prompt, the view and what plugins show beside it; a list of its own,
            which nobody edits.
        view: The view alone.
        result: What the policy returned for it.
        sizes: Its sizes in tokens.
        counted: Tokens of the view by the run's counter, uncorrected: comparable between requests.
        prefix_reused: Share of the request, 0 to 1, that repeats the start of the one before;
            ``None`` for a first request.
        new: Tokens that came to the conversation since the last request that was answered, and
            what this one alone carries, on the scale of ``sizes``.
    """

    entries: list[TranscriptEntry]
    view: list[TranscriptEntry]
    result: ContextPolicyResult
    sizes: ContextSizes
    counted: int
    prefix_reused: float | None
    new: int


class RequestLog:
    """Remembers the last request, so that the next one is measured by what is new in it.

    Counting is work for a worker thread: a new entry may be megabytes long, and a counter may have
    to load a vocabulary.
    """

    def __init__(self) -> None:
        self.view: list[TranscriptEntry] | None = None
        self._speaker: ActiveAgent | None = None
        self._counter: TokenCounter | None = None
        self._overhead = 0
        self._view_tokens = 0
        self._history_tokens = 0
        self._history_length = 0
        self._length = 0  # of the transcript at the last request
        self._new_tokens = 0  # that came since the last request that was answered

    def repeats(
        self, view: Sequence[TranscriptEntry], transcript: Sequence[TranscriptEntry]
    ) -> bool:
        """Tell whether a view is the last one and all that was appended since, and nothing else."""
        if self.view is None or not self._continues(view):
            return False
        return view[len(self.view) :] == transcript[self._length :]

    def answered(self) -> None:
        """Note that the last request was answered: nothing in it is new any more."""
        self._new_tokens = 0

    def tokens_of(self, entry: TranscriptEntry) -> int | None:
        """Return an entry's size in tokens (called in a worker thread)."""
        return self._counter.entry(entry) if self._counter is not None else None

    def build(
        self,
        active: ActiveAgent,
        result: ContextPolicyResult,
        transcript: Sequence[TranscriptEntry],
        shown: Sequence[TranscriptEntry] = (),
    ) -> ModelRequest:
        """Measure a view and make it the last request (called in a worker thread).

        Args:
            active: Who speaks.
            result: The policy's view.
            transcript: The transcript.
            shown: Entries that this request alone carries after the view.
        """
        same_speaker = active is self._speaker
        counter = self._become(active)
        view = list(result.entries)
        self._count_history(counter, transcript)
        tokens, kept = self._count_view(counter, view, same_speaker=same_speaker)
        beside = counter.entries(shown)
        request = self._overhead + tokens + beside
        previous = self.view
        self.view, self._view_tokens, self._length = view, tokens, len(transcript)
        reused = None if previous is None else kept / max(request, 1)
        history = self._overhead + self._history_tokens
        sizes = result.sizes or ContextSizes(
            history=history,
            request_before=(history if result.view == "compacted" else request - beside),
            request_after=request - beside,
            window=provider_window(active.provider),
            source=counter.source,
        )
        if shown:
            sizes = replace(
                sizes,
                request_before=sizes.request_before + beside,
                request_after=sizes.request_after + beside,
            )
        lead = () if active.prompt is None else (active.prompt,)
        scale = sizes.request_after / max(request, 1)  # a policy may count otherwise than we do
        new = round((self._new_tokens + beside) * scale)
        return ModelRequest([*lead, *view, *shown], view, result, sizes, tokens, reused, new)

    def _continues(self, view: Sequence[TranscriptEntry]) -> bool:
        """Tell whether a view begins with the whole of the last one."""
        return self.view is not None and view[: len(self.view)] == self.view

    def _become(self, active: ActiveAgent) -> TokenCounter:
        """Take note of who speaks: another agent sends other instructions and tools."""
        if active is self._speaker and self._counter is not None:
            return self._counter
        from lovia.tokens import counter_for

        counter = counter_for(active.provider, active.model)
        self._speaker, self._counter = active, counter
        self._history_tokens = self._history_length = 0
        self._overhead = counter.overhead(
            instructions=active.prompt.content if active.prompt else None,  # type: ignore[arg-type] # a prompt is text
            tools=active.schemas,
            response_format=active.response_format,
        )
        self._new_tokens = self._overhead  # and the history, which is counted anew
        return counter

    def _count_history(self, counter: TokenCounter, transcript: Sequence[TranscriptEntry]) -> None:
        grown = counter.entries(transcript[self._history_length :])
        self._history_tokens += grown
        self._new_tokens += grown
        self._history_length = len(transcript)

    def _count_view(
        self, counter: TokenCounter, view: list[TranscriptEntry], *, same_speaker: bool
    ) -> tuple[int, int]:
        """Return the tokens of the view, and those of the request that repeat the last one."""
        if not same_speaker or self.view is None:
            return counter.entries(view), 0
        if self._continues(view):
            new = counter.entries(view[len(self.view) :])
            return self._view_tokens + new, self._overhead + self._view_tokens
        pairs = zip(self.view, view, strict=False)
        common = next((i for i, (old, new) in enumerate(pairs) if old != new), len(view))
        shared = counter.entries(view[:common])
        return shared + counter.entries(view[common:]), self._overhead + shared
