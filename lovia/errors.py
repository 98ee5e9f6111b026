"""The errors that lovia raises: one class per situation a caller can tell apart.

Every error carries a ``hint``: one plain sentence that says what to do next.
"""

from __future__ import annotations

__all__ = [
    "ArchiveError",
    "BudgetExceeded",
    "CheckpointConflict",
    "CheckpointDamaged",
    "CheckpointError",
    "ContextOverflowError",
    "GuardrailTripped",
    "InvalidToolArguments",
    "InvalidViewError",
    "LoviaError",
    "MaxTurnsExceeded",
    "OutputValidationError",
    "ProviderError",
    "RunCancelled",
    "RunSuspended",
    "SessionConflict",
    "StoreError",
    "SummaryRejected",
    "ToolError",
    "TranscriptFormatError",
    "UserError",
]


class LoviaError(Exception):
    """Base class of every error that lovia raises on purpose.

    Args:
        message: What went wrong and where, in one sentence.
        hint: What the reader can do about it, or ``None``.
    """

    def __init__(self, message: str = "", *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Return the message, followed by the hint on a line of its own."""
        return f"{self.message}\nHint: {self.hint}" if self.hint else self.message


class UserError(LoviaError):
    """The caller configured something in a way that cannot work."""


class ProviderError(LoviaError):
    """A model provider failed, or answered with something that is not an answer.

    Attributes:
        status_code: The HTTP status, when there was one.
        retryable: Whether the same request may succeed later.
        retry_after: Seconds that the provider asked to wait, when it said so.
        vendor: The provider's short name.
        model: The model that was asked.
    """

    def __init__(
        self,
        message: str = "",
        *,
        hint: str | None = None,
        status_code: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        vendor: str | None = None,
        model: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status_code = status_code
        self.retryable = retryable
        self.retry_after = retry_after
        self.vendor = vendor
        self.model = model


class ContextOverflowError(ProviderError):
    """The provider says that the request is larger than the model's context window.

    Attributes:
        reported_window: The window in tokens that the rejection named, or ``None``.
    """

    def __init__(
        self,
        message: str = "The request is larger than the model's context window.",
        *,
        hint: str | None = None,
        reported_window: int | None = None,
        status_code: int | None = None,
        vendor: str | None = None,
        model: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint, status_code=status_code, vendor=vendor, model=model)
        self.reported_window = reported_window


class SummaryRejected(LoviaError):
    """A summary attempt produced nothing that may stand for the text it was made of.

    Attributes:
        reason: ``empty``, ``refusal``, ``length``, ``tool_call``, ``reasoning_only``,
            ``inflated`` or ``timeout``.
    """

    def __init__(self, message: str = "", *, reason: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class ToolError(LoviaError):
    """A tool failed in a way that its author wants the model to read.

    Attributes:
        tool: The tool's name, when known.
    """

    def __init__(
        self, message: str = "", *, hint: str | None = None, tool: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.tool = tool


class InvalidToolArguments(ToolError):
    """The arguments of a tool call do not fit the tool's schema."""


class MaxTurnsExceeded(LoviaError):
    """The run used all of its turns without a final answer."""


class BudgetExceeded(LoviaError):
    """The run spent one of the limits of its :class:`~lovia.RunBudget`.

    Attributes:
        limit: The budget field that was exceeded.
    """

    def __init__(
        self, message: str = "", *, hint: str | None = None, limit: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.limit = limit


class RunCancelled(LoviaError):
    """The run was cancelled at a named safe point.

    Attributes:
        cancellation_reason: ``user``, ``timeout``, ``shutdown``, ``parent``, or the caller's own
            text.
        cancellation_checkpoint: The safe point at which the cancellation was noticed, or ``None``.
    """

    def __init__(
        self,
        message: str = "The run was cancelled.",
        *,
        hint: str | None = None,
        reason: str = "user",
        checkpoint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.cancellation_reason = reason
        self.cancellation_checkpoint = checkpoint

    @property
    def reason(self) -> str:
        """Why the run was cancelled."""
        return self.cancellation_reason


class RunSuspended(LoviaError):
    """The run waits for approvals and was saved; it goes on when it is resumed.

    Attributes:
        run_id: The run.
        waiting: The ids of the calls that wait, in the order in which the model made them.
    """

    def __init__(
        self,
        message: str = "The run waits for approval.",
        *,
        hint: str | None = None,
        run_id: str | None = None,
        waiting: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.run_id = run_id
        self.waiting = waiting


class StoreError(LoviaError):
    """A store cannot work with what it finds at its place."""


class CheckpointError(LoviaError):
    """A saved run cannot be gone on with.

    Attributes:
        run_id: The run.
    """

    def __init__(
        self, message: str = "", *, hint: str | None = None, run_id: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.run_id = run_id


class CheckpointDamaged(CheckpointError):
    """What was loaded of a run is not what was saved of it."""


class CheckpointConflict(CheckpointError):
    """Somebody else has gone on with the run, or deleted it, since it was loaded."""


class SessionConflict(LoviaError):
    """Others kept changing a conversation while it was worked on.

    Attributes:
        session_id: The conversation.
    """

    def __init__(
        self, message: str = "", *, hint: str | None = None, session_id: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.session_id = session_id


class OutputValidationError(LoviaError):
    """The model's final answer does not fit the requested output type.

    Attributes:
        raw: The model's text (bounded by the raiser).
        output_type_name: The type that was expected, for people.
    """

    def __init__(
        self,
        message: str = "",
        *,
        hint: str | None = None,
        raw: str | None = None,
        output_type_name: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.raw = raw
        self.output_type_name = output_type_name


class GuardrailTripped(LoviaError):
    """A guardrail refused the run's input or output.

    Attributes:
        where: ``input`` or ``output``.
    """

    def __init__(
        self, message: str = "", *, hint: str | None = None, where: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.where = where


class InvalidViewError(LoviaError):
    """A list of entries is no valid view: a provider would refuse it, or it lost something.

    Attributes:
        index: Position of the offending entry in the view, or ``None`` when the view as a whole is
            at fault.
        rule: The broken rule's short name.
    """

    def __init__(
        self, message: str = "", *, rule: str, index: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.rule = rule
        self.index = index


class ArchiveError(LoviaError):
    """An archive could not keep something, or does not give out what it was asked for.

    Attributes:
        uri: What was asked for or being written, or ``None``.
    """

    def __init__(
        self, message: str = "", *, hint: str | None = None, uri: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.uri = uri


class TranscriptFormatError(LoviaError):
    """A file or text is not a transcript in any format that lovia reads.

    Attributes:
        source: The file, or a description of the bytes.
        position: Where in it (a line, a message index or a JSON path), or ``None``.
        expected: What would have been right at that place, or ``None``.
    """

    def __init__(
        self,
        message: str = "",
        *,
        source: str | None = None,
        position: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.source = source
        self.position = position
        self.expected = expected
