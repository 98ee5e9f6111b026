"""One call of a model, by a turn or by a summarizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from opentelemetry.trace import SpanKind

from lovia_otel import content, logs, names, neighbours
from lovia_otel.facts import clean_text
from lovia_otel.guard import guarded
from lovia_otel.prices.bill import lost_tokens
from lovia_otel.prices.current import current_prices
from lovia_otel.spans._charging import amounts_of, sent_by, spent_of
from lovia_otel.spans._scope import Scope, settles
from lovia_otel.spans.compaction import current_pass
from lovia_otel.spans.fold import current_fold
from lovia_otel.spans.run import current_run

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class ChatSizes:
    """What one model call sends, in tokens.

    ``history`` is the whole transcript as if nothing was ever compacted, ``request`` what is sent,
    both with instructions, tool schemas and response format. ``window`` is what the model takes,
    ``None`` when unknown; then ``saved`` (min(history, window) - request) is ``None`` too.
    ``source`` says who counted: ``provider``, ``tokenizer`` or ``bytes``. ``new`` is what came to
    the conversation since the call before it, ``None`` when unknown.
    """

    history: int | None
    request: int | None
    window: int | None
    saved: int | None
    source: str | None
    new: int | None = None

    @property
    def inflated(self) -> int:
        """By how much the request is larger than the history that it stands for."""
        if self.request is None or self.history is None:
            return 0
        return max(0, self.request - self.history)


@dataclass(kw_only=True, eq=False)
class ChatScope(Scope):
    """One model call: ``chat {model}``.

    ``purpose`` is ``turn`` or ``summarize``. ``view`` says what the request holds (``original``,
    ``compacted`` or ``replayed``), ``compacted`` whether compaction left anything out of it.
    ``prefix_reused`` is the share (0 to 1) of the request that equals the start of the previous
    one, which a provider's prompt cache can serve; ``cache_used`` whether it did serve or store
    some of that one.
    """

    provider: str
    model: str | None
    purpose: str
    agent: str | None
    session_id: str | None = None
    server_address: str | None = None
    server_port: int | None = None
    stream: bool = True
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    output_type: str | None = None
    sizes: ChatSizes | None = None
    view: str | None = None
    compacted: bool = False
    prefix_reused: float | None = None
    cache_used: bool = False

    _kind = SpanKind.CLIENT
    _has_event = True

    @settles
    def settle(  # noqa: PLR0913 - one keyword a fact
        self,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cache_read_tokens: int | None = None,
        cache_write_tokens: int | None = None,
        reasoning_tokens: int | None = None,
        response_model: str | None = None,
        response_id: str | None = None,
        finish_reason: str | None = None,
        time_to_first_chunk: float | None = None,
    ) -> None:
        """Hand over what the provider reported; times in seconds."""
        self._note(
            {
                names.USAGE_INPUT_TOKENS: input_tokens,
                names.USAGE_OUTPUT_TOKENS: output_tokens,
                names.USAGE_CACHE_READ: cache_read_tokens,
                names.USAGE_CACHE_WRITE: cache_write_tokens,
                names.USAGE_REASONING: reasoning_tokens,
                names.RESPONSE_MODEL: response_model,
                names.RESPONSE_ID: response_id,
                names.RESPONSE_FINISH_REASONS: (finish_reason,) if finish_reason else None,
                names.RESPONSE_TIME_TO_FIRST_CHUNK: time_to_first_chunk,
            }
        )

    def _name(self) -> str:
        return f"{names.SPAN_CHAT} {clean_text(self.model or '')}".rstrip()

    def _start(self) -> Mapping[str, object]:
        return {
            names.OPERATION_NAME: names.OPERATION_CHAT,
            names.PROVIDER_NAME: self.provider,
            names.REQUEST_MODEL: self.model,
            names.INFERENCE_PURPOSE: self.purpose,
            names.AGENT_NAME: self.agent,
            names.CONVERSATION_ID: self.session_id,
            names.CONVERSATION_COMPACTED: True if self.compacted else None,
            names.SERVER_ADDRESS: self.server_address,
            names.SERVER_PORT: self.server_port if self.server_address is not None else None,
            names.REQUEST_STREAM: self.stream,
            names.REQUEST_TEMPERATURE: self.temperature,
            names.REQUEST_TOP_P: self.top_p,
            names.REQUEST_MAX_TOKENS: self.max_tokens,
            names.OUTPUT_TYPE: self.output_type,
            names.CONTEXT_VIEW: self.view,
            names.CONTEXT_PREFIX_REUSED: self.prefix_reused,
            **self._size_facts(),
        }

    def _size_facts(self) -> dict[str, object]:
        sizes = self.sizes
        if sizes is None:
            return {}
        return {
            names.CONTEXT_HISTORY_TOKENS: sizes.history,
            names.CONTEXT_REQUEST_TOKENS: sizes.request,
            names.CONTEXT_WINDOW_TOKENS: sizes.window,
            names.CONTEXT_SAVED_TOKENS: sizes.saved,
            names.CONTEXT_NEW_TOKENS: sizes.new,
            names.TOKENS_SOURCE: sizes.source,
        }

    def _opened(self) -> None:
        self._fold, self._pass, self._run = current_fold(), current_pass(), current_run()
        self._context = neighbours.claimed(self._context)

    def _measure(self, seconds: float) -> None:
        facts = self._facts
        self._charge()
        self._record(names.METRIC_INFERENCE_DURATION, seconds)
        for metric, key in _USAGE:
            self._record(metric, facts.get(key))
        if self._fold is not None:
            spent = (
                facts.get(key) for key in (names.USAGE_INPUT_TOKENS, names.USAGE_OUTPUT_TOKENS)
            )
            self._fold.spend(*(tokens if isinstance(tokens, int) else 0 for tokens in spent))
        self._record(names.METRIC_PREFIX_REUSED, facts.get(names.CONTEXT_PREFIX_REUSED))
        if self.sizes is not None:
            self._measure_sizes(self.sizes)
        if content.emits_details():
            at = logs.Moment(context=self._context)
            logs.inference_details(facts=facts, content=self._content, at=at)

    def _measure_sizes(self, sizes: ChatSizes) -> None:
        self._record(names.METRIC_HISTORY_SIZE, sizes.history)
        self._record(names.METRIC_REQUEST_SIZE, sizes.request)
        if sizes.request is not None and sizes.window:
            self._record(names.METRIC_WINDOW_UTILIZATION, sizes.request / sizes.window)
        if self._failed:  # nobody was charged for it, so nothing was saved either
            return
        self._record(names.METRIC_SAVED_TOKENS, sizes.saved)
        self._record(names.METRIC_INFLATED_TOKENS, sizes.inflated or None)

    @guarded
    def _charge(self) -> None:
        """Tell what the call cost and what compaction did to that, as far as it is known."""
        spent = spent_of(self._facts)
        if spent is None:
            return
        sent = None if self._failed else sent_by(self)
        if sent is not None:
            self._note({names.CONTEXT_CACHE_LOST_TOKENS: lost_tokens(sent, spent)})
        prices = current_prices()
        if prices is None:
            return
        bill = prices.bill(self.provider, self.model or "", spent, sent)
        if bill is None:
            self._record(names.METRIC_UNPRICED_CALLS, 1)
            return
        amounts = amounts_of(bill, self.purpose)
        self._note({names.COST_CURRENCY: bill.currency, **amounts})
        for name, amount in amounts.items():  # one name, two signals
            self._record(name, amount)
        for holder in (self._pass, self._run):
            if holder is not None:
                holder.charge(self.purpose, bill.cost, bill.currency)


_USAGE = (
    (names.METRIC_INPUT_TOKENS, names.USAGE_INPUT_TOKENS),
    (names.METRIC_OUTPUT_TOKENS, names.USAGE_OUTPUT_TOKENS),
    (names.METRIC_CACHE_READ_TOKENS, names.USAGE_CACHE_READ),
    (names.METRIC_CACHE_WRITE_TOKENS, names.USAGE_CACHE_WRITE),
    (names.METRIC_REASONING_TOKENS, names.USAGE_REASONING),
    (names.METRIC_TIME_TO_FIRST_CHUNK, names.RESPONSE_TIME_TO_FIRST_CHUNK),
)

chat_scope = ChatScope
