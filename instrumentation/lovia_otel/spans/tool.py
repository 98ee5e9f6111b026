"""The execution of one tool call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lovia_otel import names
from lovia_otel.facts import clean_text
from lovia_otel.spans._scope import Scope, settles

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(kw_only=True, eq=False)
class ToolScope(Scope):
    """One tool call: ``execute_tool {tool}``.

    A tool whose failure goes to the model as a result raises nothing here: settle its
    ``error_type`` and the span is an error all the same.
    """

    tool: str
    call_id: str | None
    agent: str | None

    @settles
    def settle(
        self,
        *,
        result_tokens: int | None = None,
        truncated: bool | None = None,
        error_type: str | None = None,
    ) -> None:
        """Hand over the size of the result in tokens and whether it was cut."""
        self._note(
            {
                names.TOOL_RESULT_TOKENS: result_tokens,
                names.TOOL_RESULT_TRUNCATED: truncated,
                names.ERROR_TYPE: error_type,
            }
        )

    @settles
    def handoff(self, *, source: str, target: str, pending: bool) -> None:
        """Say that this call hands over from one agent to another; ``pending``: not yet applied."""
        self._note(
            {
                names.HANDOFF_SOURCE: source,
                names.HANDOFF_TARGET: target,
                names.HANDOFF_PENDING: pending,
            }
        )

    def _name(self) -> str:
        return f"{names.SPAN_TOOL} {clean_text(self.tool)}".rstrip()

    def _start(self) -> Mapping[str, object]:
        return {
            names.OPERATION_NAME: names.OPERATION_TOOL,
            names.TOOL_NAME: self.tool,
            names.TOOL_CALL_ID: self.call_id,
            names.TOOL_TYPE: names.TOOL_TYPE_FUNCTION,
            names.AGENT_NAME: self.agent,
        }

    def _measure(self, seconds: float) -> None:
        self._record(names.METRIC_TOOL_DURATION, seconds)


tool_scope = ToolScope
