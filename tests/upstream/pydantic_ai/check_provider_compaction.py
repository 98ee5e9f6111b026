"""`observe` on the capabilities that have the provider compact, with a scripted provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.messages import CompactionPart, ModelResponse, TextPart
from pydantic_ai.models.anthropic import AnthropicCompaction
from pydantic_ai.models.openai import OpenAICompaction, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage

from lovia_otel import names, observe
from tests.upstream.pydantic_ai.scripted import USAGE, talk
from tests.upstream.trees import facts, tree

if TYPE_CHECKING:
    from tests.otel.conftest import Telemetry

TALK = talk(5)
SPENT = RequestUsage(input_tokens=40, output_tokens=5)


def compaction() -> CompactionPart:
    """Return what OpenAI sends back in place of messages."""
    opaque = {"encrypted_content": "secret", "type": "compaction"}
    return CompactionPart(content=None, id="cmp_1", provider_name="openai", provider_details=opaque)


class ScriptedResponses(OpenAIResponsesModel):
    """The model of OpenAI's Responses API, with a script in place of the network."""

    def __init__(self, *answers: Any) -> None:
        client = AsyncOpenAI(api_key="none", base_url="http://127.0.0.1:9")
        super().__init__("gpt-5", provider=OpenAIProvider(openai_client=client))
        self.answers = list(answers)
        self.sent: list[int] = []

    async def request(self, messages: Any, *args: Any, **kwargs: Any) -> ModelResponse:
        """Answer from the script."""
        self.sent.append(len(messages))
        return ModelResponse(parts=self.answers.pop(0), usage=USAGE, model_name="gpt-5")

    async def compact_messages(self, request_context: Any, **kwargs: Any) -> ModelResponse:
        """Compact: the provider's answer is from the script too."""
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return ModelResponse(parts=answer, usage=SPENT, model_name="gpt-5", provider_name="openai")


async def run(capability: Any, *answers: Any) -> list[int]:
    """Run an agent on a history, and return how many messages each request sent."""
    model = ScriptedResponses(*answers)
    helper = Agent(model, name="helper", capabilities=[capability])
    await helper.run("now", message_history=list(TALK))
    return model.sent


def stateless() -> OpenAICompaction[Any]:
    """Return the capability that asks for a compaction from five messages on."""
    return OpenAICompaction(message_count_threshold=5)


@pytest.mark.anyio
async def test_a_compaction_that_is_asked_for_is_a_pass_with_a_call(telemetry: Telemetry) -> None:
    """The request to compact is a model call below a stage, and its bill is the pass's."""
    answers = [[compaction()], [TextPart("fine")]]
    plain = await run(stateless(), *answers)
    assert await run(observe(stateless()), *answers) == plain
    stage = f"  {names.SPAN_STAGE} OpenAICompaction"
    assert tree(telemetry) == [names.SPAN_PASS, stage, f"    {names.SPAN_CHAT} gpt-5"]
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_OUTCOME] == names.COMPACTED
    assert about[names.COMPACTION_TRIGGER] == names.TRIGGER_ENTRIES
    assert about[names.COMPACTION_SUMMARY_INPUT_TOKENS] == SPENT.input_tokens
    assert about[names.PROVIDER_NAME] == "openai"


@pytest.mark.anyio
async def test_a_compaction_that_is_refused_is_a_failed_pass(telemetry: Telemetry) -> None:
    """The provider's error goes through."""
    with pytest.raises(ConnectionError):
        await run(observe(stateless()), ConnectionError("no"), [TextPart("fine")])
    assert facts(telemetry, names.SPAN_PASS)[names.COMPACTION_OUTCOME] == names.FAILED


@pytest.mark.anyio
@pytest.mark.parametrize("kind", [OpenAICompaction, AnthropicCompaction])
async def test_what_the_server_compacts_by_itself_shows_in_its_answer(
    telemetry: Telemetry, kind: Any
) -> None:
    """The pass is as long as the request in which it happened, and has no stages."""
    answers = [[compaction(), TextPart("fine")]]
    observed = observe(kind(token_threshold=10))
    assert isinstance(observed, kind)
    assert await run(observed, *answers) == [len(TALK) + 1]
    assert tree(telemetry) == [names.SPAN_PASS]
    about = facts(telemetry, names.SPAN_PASS)
    assert about[names.COMPACTION_OUTCOME] == names.COMPACTED
    assert about[names.COMPACTION_ENTRIES_BEFORE] == len(TALK) + 1


@pytest.mark.anyio
async def test_a_request_that_the_server_did_not_compact_is_no_pass(telemetry: Telemetry) -> None:
    """Without a compaction in the answer there was none."""
    await run(observe(OpenAICompaction(token_threshold=10)), [TextPart("fine")])
    assert tree(telemetry) == []
