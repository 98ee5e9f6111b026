"""The dashboard of traces in Tempo: from a number that looks wrong to the very pass behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grafana_foundation_sdk.builders.dashboard import QueryVariable
from grafana_foundation_sdk.models import dashboard as models

from dashboards.frame import PER_SECOND, SECONDS, Guide
from dashboards.layout import board
from dashboards.traceql import durations, is_one_of, is_operation, rate_by, search
from dashboards.tracing import TEMPO, tempo_lines, tempo_list
from dashboards.variables import EVERYTHING, datasource, text
from dashboards.words import NO_TRACES
from lovia_otel import names

if TYPE_CHECKING:
    from grafana_foundation_sdk.cog.builder import Builder
    from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

_PASS: Final = is_operation(names.OPERATION_PASS)
_RUN: Final = is_operation(names.OPERATION_RUN)
_CHAT: Final = is_operation(names.OPERATION_CHAT)
_FOLD: Final = f'name = "{names.SPAN_FOLD}"'
_NUMBERS: Final = (
    names.COMPACTION_TRIGGER,
    names.COMPACTION_REASON,
    names.COMPACTION_TOKENS_BEFORE,
    names.COMPACTION_TOKENS_AFTER,
)


def traces() -> Dashboard:
    """Return the dashboard."""
    return board(
        "lovia: traces",
        "Searches for the passes, stages, folds and runs that are worth a look. Each row leads to "
        "its trace. For Tempo; it needs the searches over time of Tempo 2.4 or newer.",
        _variables(),
        {
            "Which passes take long?": _slow(),
            "Which passes went wrong?": _wrong(),
            "Which stages and folds went wrong?": _parts(),
            "Which requests were refused, and which broke the prompt cache?": _requests(),
            "Which runs did not complete?": _runs(),
        },
    )


def _variables() -> list[Builder[models.VariableModel]]:
    return [
        datasource("tempo", "Traces", "tempo"),
        _values_of("service", "Service", "service.name"),
        _values_of("agent", "Agent", names.AGENT_NAME),
        text("slow", "Slow from", "5s", "The time from which a pass is in the list of slow ones."),
    ]


def _values_of(name: str, label: str, attribute: str) -> QueryVariable:
    """Return a variable with the values of an attribute, as Tempo's data source asks for them."""
    query: dict[str, object] = {"type": 1, "label": attribute, "refId": f"{name}-values"}
    variable = QueryVariable(name).label(label).datasource(TEMPO).query(query)
    variable.multi(True).include_all(True).all_value(EVERYTHING)
    variable.refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
    return variable.current(models.VariableOption(text=["All"], value=["$__all"]))


def _slow() -> list[Panel]:
    return [
        tempo_lines(
            "How long passes take",
            durations(search(_PASS), 0.5, 0.95, 0.99),
            unit=SECONDS,
            guide=Guide(
                shows="Quantiles of the time that passes take, out of the kept spans.",
                act="Sampling that keeps slow passes raises the curve: for the true one see the "
                "overview. Follow an exemplar to its trace.",
                empty="No pass in the kept traces of this time",
            ),
        ),
        tempo_list(
            "Slow passes",
            search(_PASS, "duration > $slow", show=(*_NUMBERS, names.COMPACTION_CHUNKS)),
            guide=Guide(
                shows="Passes that took longer than the time chosen above.",
                act="In the trace see which fold or archive write takes the time.",
                empty=NO_TRACES,
            ),
        ),
    ]


def _wrong() -> list[Panel]:
    outcomes = (names.PARTIAL, names.INFLATED, names.FAILED, names.CANCELLED)
    return [
        tempo_lines(
            "Passes by outcome",
            rate_by(search(_PASS), names.COMPACTION_OUTCOME),
            unit=PER_SECOND,
            stacked=True,
            guide=Guide(
                shows="How the passes in the kept traces ended.",
                act="For true rates see the overview: traces are a sample.",
                empty="No pass in the kept traces of this time",
            ),
        ),
        tempo_list(
            "Passes that went wrong",
            search(
                _PASS,
                is_one_of(names.COMPACTION_OUTCOME, *outcomes),
                show=(names.COMPACTION_OUTCOME, names.ERROR_TYPE, *_NUMBERS),
            ),
            guide=Guide(
                shows="Passes that were partial, inflated, failed or cancelled.",
                act="Look for the stage with an error below the pass.",
                empty=NO_TRACES,
            ),
        ),
    ]


def _parts() -> list[Panel]:
    return [
        tempo_list(
            "Stages that failed or were refused",
            search(
                f"span.{names.COMPACTION_STAGE_INDEX} >= 0",
                is_one_of(names.COMPACTION_OUTCOME, names.FAILED, names.REFUSED),
                show=(names.COMPACTION_STAGE, names.COMPACTION_OUTCOME, names.COMPACTION_NOTE),
                by_agent=False,
            ),
            guide=Guide(
                shows="Stages whose result was not used. The pass went on without it.",
                act="Refused: the note says which rule of a valid view the stage broke.",
                empty=NO_TRACES,
            ),
        ),
        tempo_list(
            "Folds that took more than one attempt",
            search(
                _FOLD,
                f"span.{names.CHUNK_ATTEMPTS} > 1",
                show=(names.CHUNK_INDEX, names.CHUNK_TOKENS, names.CHUNK_ATTEMPTS),
                by_agent=False,
            ),
            guide=Guide(
                shows="Chunks for which the summarizer had to be asked again.",
                act="Below the fold, the model calls say what was wrong with the first answer.",
                empty=NO_TRACES,
            ),
        ),
    ]


def _requests() -> list[Panel]:
    sizes = (names.CONTEXT_REQUEST_TOKENS, names.CONTEXT_WINDOW_TOKENS, names.REQUEST_MODEL)
    return [
        tempo_list(
            "Passes after a refusal",
            search(
                _PASS, is_one_of(names.COMPACTION_TRIGGER, names.TRIGGER_OVERFLOW), show=_NUMBERS
            ),
            guide=Guide(
                shows="Passes that ran because the provider refused a request as too large.",
                act="Each teaches the policy the real window, once. Many: set it.",
                empty=NO_TRACES,
            ),
        ),
        tempo_list(
            "Calls that kept little of their prefix",
            search(
                _CHAT,
                is_one_of(names.INFERENCE_PURPOSE, names.PURPOSE_TURN),
                f"span.{names.CONTEXT_PREFIX_REUSED} < 0.5",
                show=(names.CONTEXT_PREFIX_REUSED, names.CONTEXT_VIEW, *sizes),
                by_agent=False,
            ),
            guide=Guide(
                shows="Model calls of which less than half equals the start of the call before, "
                "so that the prompt cache was of little use.",
                act="A compacted view is a pass that did it. An original or replayed one has "
                "another cause: instructions or tools that change from turn to turn.",
                empty=NO_TRACES,
            ),
        ),
    ]


def _runs() -> list[Panel]:
    outcomes = (names.FAILED, names.CANCELLED, names.LIMIT_REACHED)
    return [
        tempo_list(
            "Runs that did not complete",
            search(
                _RUN,
                is_one_of(names.RUN_OUTCOME, *outcomes),
                show=(names.RUN_OUTCOME, names.ERROR_TYPE, names.CANCELLATION_CHECKPOINT),
            ),
            guide=Guide(
                shows="Runs that failed, were cancelled, or reached a limit.",
                act="For a cancelled one the checkpoint says where it was stopped.",
                empty=NO_TRACES,
            ),
        ),
        tempo_list(
            "Runs that were resumed",
            search(
                _RUN, f"span.{names.RUN_RESUMED} = true", show=(names.RUN_OUTCOME, names.RUN_TURNS)
            ),
            guide=Guide(
                shows="Runs that went on from a saved one. Each has a link to the trace before.",
                act="Follow the link to see why the first part stopped.",
                empty=NO_TRACES,
            ),
        ),
    ]
