"""A model per role: to score the replies of another model, to judge them, and to think."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.commands import Cli
from support.dialogue_case import a_context
from support.meeting_case import a_quay
from support.on_use import on_use
from support.protocol_server import Served, serving
from support.scripted import ScriptedModel
from support.tiny import tiny_language_model

from tertulia.models.rehearsal import RehearsalEmbedder, RehearsalTokenizer
from tertulia.models.served.chat import open_chat_model
from tertulia.nodes.scorers.attention import scores_by_reading
from tertulia.prompts.render import render, retokenized
from tertulia.runs.driving.conversation import drive
from tertulia.state.language_model import LanguageModel, ModelRole, ScoringOptions
from tertulia.state.parameters import Parameters
from tertulia.state.records import Prompt, Reply, Unit

attention_scores = on_use("tertulia.models.local.attention_scores")
causal = on_use("tertulia.models.local.causal")

SPEECH = 'The ferry leaves at "noon", 🦆 and the baker knows it well.'


@pytest.fixture(scope="module")
def reader() -> causal.CausalLanguageModel:
    return tiny_language_model(context_window=None)


def a_prompt(layout: str) -> Prompt:
    texts = ("Mara sells fish.", "Piotr keeps the light.", "Write what Mara says.")
    units = [Unit(id=str(i), block="b", kind="item", text=text, removable=True) for i, text in enumerate(texts)]
    return Prompt(units=tuple(units), speaker="Mara", layout=layout)


def a_reply(speech: str = SPEECH) -> Reply:
    fields: dict[str, str | bool | int] = {"Mara": speech, "over?": True}
    return Reply(text=json.dumps(fields, ensure_ascii=False), tokens=(), text_tokens=(0, 0), fields=fields)


# --- replies of another model -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reply_prefix", ["", '{"Mara": "'])
@pytest.mark.parametrize("tokenizer_of", [RehearsalTokenizer, lambda: tiny_language_model().tokenizer])
def test_a_reply_is_read_whole_and_its_text_is_found(tokenizer_of: Any, reply_prefix: str) -> None:
    tokenizer = tokenizer_of()
    read = retokenized(tokenizer, a_reply(), reply_prefix)
    first, past_last = read.text_tokens
    assert reply_prefix + tokenizer.decode(read.tokens) == a_reply().text
    assert tokenizer.decode(read.tokens[first:past_last]) == json.dumps(SPEECH, ensure_ascii=False)[1:-1]


@pytest.mark.parametrize("layout", ["single_message", "chat_turns"])
@pytest.mark.parametrize("reducer", ["sum-mean", "mean-mean", "capped"])
async def test_reading_scores_as_the_definition_does(
    reader: causal.CausalLanguageModel, layout: str, reducer: Any
) -> None:
    prompt, options = a_prompt(layout), ScoringOptions(reducer=reducer)
    reply_prefix = '{"Mara": "' if layout == "chat_turns" else ""
    expected = []
    replies = [a_reply(), a_reply("No.")]
    for reply in replies:
        rendered, read = (
            render(prompt, reader.tokenizer, reply_prefix),
            retokenized(reader.tokenizer, reply, reply_prefix),
        )
        (attention,) = attention_scores.attention_to_prompt(reader.model, reader.prompts.get(rendered), [read.tokens])
        expected.append(attention_scores.unit_scores(attention, rendered, options))
    scores = await scores_by_reading(reader, prompt, replies, options)
    assert scores == {
        unit: pytest.approx(sum(scores_of_reply[unit] for scores_of_reply in expected) / 2, rel=1e-4)
        for unit in ("0", "1", "2")
    }


async def test_a_remote_model_s_replies_are_scored_by_a_surrogate(
    served: Served, reader: causal.CausalLanguageModel
) -> None:
    remote = open_chat_model(served.model, Parameters(), None)
    context = a_context(remote, removal_factor=0.5, max_turns=1, surrogate="tiny")  # type: ignore[arg-type]
    await drive(replace(context, roles={"score": (reader, context.parameters)}), InMemorySaver())
    record = context.store.turn_record(context.run, 1)
    assert record.scored_by == f"tiny (surrogate of {served.model})"
    assert record.scores is not None
    assert record.removed
    assert set(record.scores) == {unit.id for unit in context.store.prompt(record.prompt or "").units}
    asked = [(call.kind, call.model) for call in context.store.calls(context.run) if call.node == "score"]
    assert asked == [("generate", served.model)] * 3 + [("score", "tiny")]


# --- roles ------------------------------------------------------------------------------------------------------------


def named(id: str, **traits: Any) -> ScriptedModel:
    model = ScriptedModel(**traits)
    model.id, model.weights = id, None
    return model


def with_roles(model: ScriptedModel, roles: dict[ModelRole, ScriptedModel], start: Any = None, **settings: Any) -> Any:
    context = a_context(model, None, start, **settings)
    return replace(context, roles={role: (model_of_role, context.parameters) for role, model_of_role in roles.items()})


async def test_each_step_asks_the_model_of_its_role() -> None:
    speaker, judge, thinker = named("speaker"), named("judge"), named("thinker")
    settings = {"max_turns": 2, "removal_factor": 0.5, "judge": "rating", "order": "centralised"}
    context = with_roles(speaker, {"judge": judge, "think": thinker}, a_quay(), **settings)
    await drive(context, InMemorySaver())
    asked = {(call.node, call.model) for call in context.store.calls(context.run)}
    assert {(node, model) for node, model in asked if model != "thinker"} == {
        ("generate", "speaker"),
        ("score", "speaker"),
        ("judge", "judge"),
    }
    assert {"centralised", "assess", "choose_mechanisms"} <= {node for node, model in asked if model == "thinker"}
    assert context.store.turn_record(context.run, 1).judged_by == "rating by judge"


async def test_a_judge_by_likelihood_reads_in_its_tokens() -> None:
    lengths: list[int] = []

    class Reader(ScriptedModel):
        async def log_likelihood(self, prompt: Any, reply: Reply) -> float:
            lengths.append(len(reply.tokens))
            assert self.tokenizer.decode(reply.tokens[slice(*reply.text_tokens)])
            assert prompt.reply_prefix + self.tokenizer.decode(reply.tokens) == reply.text
            return -1.0

    settings = {"max_turns": 1, "removal_factor": 0.5, "judge": "likelihood", "inconsistency_threshold": 0.1}
    with serving() as served:
        remote = open_chat_model(served.model, Parameters(), None)
        settings |= {"surrogate": "x", "ending": "off"}
        await drive(with_roles(remote, {"judge": Reader(), "score": named("reader")}, **settings), InMemorySaver())  # type: ignore[arg-type]
    assert lengths


async def test_a_role_comes_before_a_participant_s_model_and_both_before_the_run_s_model() -> None:
    run, participant, judge = named("run"), named("participant"), named("judge")
    context = with_roles(run, {"judge": judge})
    context = replace(context, participant_models={"Mara": (participant, context.parameters)})
    models = {
        (who, role): context.of(who, role).model.id for who in ("Mara", "Piotr") for role in ("speak", "think", "judge")
    }
    assert models == {
        ("Mara", "speak"): "participant",
        ("Mara", "think"): "participant",
        ("Mara", "judge"): "judge",
        ("Piotr", "speak"): "run",
        ("Piotr", "think"): "run",
        ("Piotr", "judge"): "judge",
    }
    assert context.of("Mara", "judge").asked_by("Mara", 1, "judge").id == "judge"
    assert context.of("Mara").asked_by("Mara", 1, "generate").id == "participant"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the models that the command line opened; each is a scripted one."""
    names: list[str] = []

    def open_scripted(name: str, **access: Any) -> LanguageModel:
        names.append(name)
        judge = "likelihood" if name == "weighs" else "rating"
        return named(name, judge=judge, likelihood_threshold=0.02, rehearsed=False)

    monkeypatch.setattr("tertulia.models.loading.open_model", open_scripted)
    monkeypatch.setattr("tertulia.models.loading.open_embedder", lambda *_: RehearsalEmbedder())
    return names


def test_roles_are_recorded_and_opened_again(cli: Cli, opened: list[str]) -> None:
    asked = ("--set", "judge_model=weighs", "--set", "thinking_model=thinks", "--set", "surrogate=thinks")
    command = ("run", "team_building", "--lambda", "0.5", "--model", "speaks", "--rounds", "2")
    run = cli(*command, *asked, "--json").json["run"]
    assert opened == ["speaks", "weighs", "thinks"]
    parameters = cli("show", run, "--json").json["parameters"]
    assert (parameters["judge_model"], parameters["thinking_model"]) == ("weighs", "thinks")
    assert (parameters["judge"], parameters["inconsistency_threshold"]) == ("likelihood", 0.02)
    models = {row["model"] for row in cli("show", run, "--cost", "--json").json["models"]}
    assert models == {"speaks", "thinks", "weighs"}
    fork = cli("fork", run, "--at", "2", "--set", "judge_model=null", "--json").json["run"]
    assert opened[3:] == ["speaks", "thinks"]
    parameters = cli("show", fork, "--json").json["parameters"]
    assert (parameters["judge_model"], parameters["judge"]) == (None, "rating")


def test_a_remote_model_thinks_for_one_that_weighs(cli: Cli) -> None:
    thinking = ("--set", "thinking_model=http://localhost/v1#small", "--set", "ending=continuation")
    weighing = ("--set", "ending_threshold=0.5", "--set", "judge=likelihood", "--set", "inconsistency_threshold=1")
    command = ("run", "team_building", "--rounds", "1", *thinking, *weighing, "--dry-run", "--json")
    assert cli(*command).json["total"]["calls"] > 0
    cli(*command, "--set", "judge_model=http://localhost/v1#small").complains(2, "judge_model=smollm2")
