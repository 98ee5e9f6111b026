"""Structured output: what the model is told, and how its answer is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from lovia import InputEntry, OutputValidationError, Runner, UserError
from lovia.runtime.output import OutputType
from lovia.testing import ScriptedProvider, call, text
from lovia.transcript.entries import text_of
from tests.runtime.support import provider_of, scripted

pytestmark = pytest.mark.anyio


class Brief(BaseModel):
    """A brief."""

    title: str
    points: list[str] = []


@dataclass
class Point:
    """A point."""

    x: int


class Options(TypedDict, total=False):
    """Some options."""

    loud: bool


@pytest.mark.parametrize(
    ("kind", "answer", "output"),
    [
        (Brief, '{"title": "x"}', Brief(title="x")),
        (Brief, '```json\n{"title": "x"}\n```', Brief(title="x")),
        (Brief, '\n```\n{"title": "a ``` b"}\n``` ', Brief(title="a ``` b")),
        (Brief, 'Here it is: {"title": "x"}. Anything else?', Brief(title="x")),
        (Brief, 'As {you} [1] asked:\n```json\n{"title": "x"}\n```\nBye.', Brief(title="x")),
        (list[int], "The values are [1, 2].", [1, 2]),
        (Point, '{"x": 1}', Point(1)),
        (Options, "{}", {}),
        (list[int], "[1, 2]", [1, 2]),
        (int, "5", 5),
        (str, '{"title": 1}', '{"title": 1}'),
        (None, "plain", "plain"),
    ],
)
async def test_an_answer_becomes_a_value(kind: Any, answer: str, output: Any) -> None:
    """Models, dataclasses, typed dicts and plain types are read from JSON, fenced or not."""
    assert (await Runner.run(scripted(text(answer)), "go", output_type=kind)).output == output


async def test_the_model_is_told_the_schema() -> None:
    """Without support of schemas the instructions hold it; with support the request does."""
    plain = scripted(text("[]"), output_type=list[int], instructions="Be.")
    await Runner.run(plain, "go")
    (request,) = provider_of(plain).requests
    prompt = text_of(request.entries[0])
    assert prompt.startswith("Be.\n\n")
    assert '{"items": {"type": "integer"}, "type": "array"}' in prompt
    assert request.response_format is None

    provider = ScriptedProvider([text('{"title": "x", "points": []}')], supports_json_schema=True)
    await Runner.run(scripted(provider=provider, output_type=Brief, instructions="Be."), "go")
    (request,) = provider.requests
    assert request.entries[0] == InputEntry("system", "Be.")
    assert request.response_format is not None
    schema = request.response_format["json_schema"]
    assert (schema["name"], schema["strict"]) == ("Brief", True)
    assert schema["schema"]["required"] == ["title", "points"]


@pytest.mark.parametrize(("kind", "strict"), [(dict[str, int], False), (Point, True)])
def test_free_keys_are_not_strict(kind: Any, strict: bool) -> None:
    """A schema with free keys cannot be held strictly, and is sent as it is."""
    found = OutputType(kind).response_format()
    assert found is not None
    assert found["json_schema"]["strict"] is strict


def test_only_objects_go_into_the_request() -> None:
    """Vendors take objects only; another type is left to the instructions."""
    assert OutputType(list[int]).response_format() is None


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("no", "no JSON"),
        ('{"points": [1]}', "title"),
        ('I give {"points": [1]}, then [2].', "title"),
        ("[" * 100_000, "no JSON"),
        ('{"title": [' * 20_000, "no JSON"),
    ],
)
async def test_another_form_is_asked_for_once(answer: str, problem: str) -> None:
    """An answer that does not fit is asked for again, saying what was wrong; then the run fails."""
    agent = scripted(text(answer), text('{"title": "x"}'), output_type=Brief)
    result = await Runner.run(agent, "go")
    assert result.output == Brief(title="x")
    assert result.turns == 2
    assert problem in text_of(result.entries[2])

    with pytest.raises(OutputValidationError, match=problem) as caught:
        await Runner.run(scripted(text(answer), text(answer), output_type=Brief), "go")
    assert caught.value.output_type_name == "Brief"
    assert caught.value.raw == answer[:500]


async def test_repairs_can_be_turned_off_or_taken_over() -> None:
    """`False` gives up at once; a strategy decides what is said and how often."""
    with pytest.raises(OutputValidationError):
        await Runner.run(scripted(text("no"), output_type=int, output_repair=False), "go")

    class Twice:
        def build_prompt(self, exc: OutputValidationError, attempt: int) -> str | None:
            return f"try {attempt}" if attempt <= 2 else None

    agent = scripted(*[text("no")] * 3, output_type=int, output_repair=Twice())
    with pytest.raises(OutputValidationError):
        await Runner.run(agent, "go")
    assert [text_of(request.entries[-1]) for request in provider_of(agent).requests] == [
        provider_of(agent).requests[0].entries[-1].content,  # type: ignore[union-attr]
        "try 1",
        "try 2",
    ]


async def test_the_target_of_a_handoff_has_its_own_type() -> None:
    """After a handoff the answer has the target's output type."""
    other = scripted(text("7"), name="b", output_type=int)
    agent = scripted(call("transfer_to_b"), handoffs=[other], output_type=Brief)
    assert (await Runner.run(agent, "go")).output == 7


async def test_a_type_that_json_cannot_express_is_refused() -> None:
    """A type without a JSON schema fails the run before the model is asked."""
    agent = scripted(text("ok"), output_type=UserError)
    with pytest.raises(UserError, match="UserError"):
        await Runner.run(agent, "go")
    assert provider_of(agent).requests == []


@pytest.mark.usefixtures("pydantic_as_new")
async def test_the_first_output_type_of_a_process_does_not_block_the_loop() -> None:
    """Pydantic looks for plugins on the disk when it first makes a type; nobody waits for that."""
    assert (await Runner.run(scripted(text("5")), "go", output_type=int)).output == 5


@pytest.fixture
def pydantic_as_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pydantic look for its plugins again, as in a new process."""
    monkeypatch.setattr("pydantic.plugin._loader._plugins", None)
