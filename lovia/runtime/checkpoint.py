"""How a run is to be saved, and what to do when there is a saved run already."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from lovia.errors import UserError
from lovia.transcript.text import encodes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lovia.stores import Checkpointer, RunSnapshot

__all__ = ["CheckpointOptions", "IfRunExists", "checked_id"]

#: What to do about a saved run of the same id.
IfRunExists: TypeAlias = Literal["resume", "restart", "fail", "resume_only"]
_CHOICES: Final = get_args(IfRunExists)


@dataclass(frozen=True)
class CheckpointOptions:
    """Saves a run as it goes, and goes on with it when it is asked for again.

    Asking for the same ``run_id`` again resumes the run, whatever ended it: a cancellation, a
    limit, a crash. A run that is resumed takes its input from what was saved; the input of the new
    call is not looked at. A completed run gives its result again, and asks no model.

    Attributes:
        checkpointer: Where the run is saved.
        run_id: Names the run; unique in the checkpointer.
        if_run_exists: ``resume`` a saved run, or begin when there is none; ``restart`` it from the
            beginning; ``fail`` when there is one; ``resume_only``: fail when there is none.
        delete_on_success: Forget the run when it has completed.
        resume_from: Resume this instead of what the checkpointer has.
        approvals: Answers for calls that wait for approval, by the id of the call; who waits and
            has no answer here is asked about again.

    Raises:
        UserError: The options do not go together.
    """

    checkpointer: Checkpointer | None = None
    run_id: str | None = None
    if_run_exists: IfRunExists = "resume"
    delete_on_success: bool = False
    resume_from: RunSnapshot | None = None
    approvals: Mapping[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that the options go together."""
        if self.if_run_exists not in _CHOICES:
            message = f"if_run_exists is {self.if_run_exists!r}."
            raise UserError(message, hint=f"Choose one of {', '.join(_CHOICES)}.")
        if self.checkpointer is not None or self.run_id is not None:
            checked_id(self.resolved_run_id, "run_id")

    @property
    def resolved_run_id(self) -> str:
        """The run's id: the one given, or that of ``resume_from``.

        Raises:
            UserError: There is neither.
        """
        if self.run_id is not None:
            return self.run_id
        if self.resume_from is not None:
            return self.resume_from.run_id
        hint = "Name the run: CheckpointOptions(checkpointer, run_id)."
        raise UserError("A checkpointed run needs a run_id.", hint=hint)


def checked_id(value: Any, name: str) -> str:
    """Return an id that a store can keep.

    Raises:
        UserError: It is no text, empty, or does not encode.
    """
    if not isinstance(value, str) or not value or not encodes(value):
        message = f"{name} is {value!r}."
        raise UserError(message, hint="Use a text that is not empty and encodes as UTF-8.")
    return value
