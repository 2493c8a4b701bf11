"""Verbalised sampling and string seed of thought in a run: what is asked, drawn, recorded, judged and shown."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.dialogue_case import a_context
from support.scripted import ScriptedModel

from tertulia.graphs.utterance import build_utterance_graph
from tertulia.models.rehearsal import RehearsalTokenizer
from tertulia.models.served.repair import UnusableReplyError, read_answer, read_prose
from tertulia.prompts.several import STRING_SEED
from tertulia.state.context import Context
from tertulia.state.errors import ModelError
from tertulia.state.language_model import GenerationRequest, ReplyField
from tertulia.state.parameters import Parameters
from tertulia.state.records import Candidate

THREE = {"generation": "verbalized", "judge_runs": 1}


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let three replies be asked for in one call."""
    monkeypatch.setattr("tertulia.state.parameters.parameters.VERBALIZED_REPLIES", 3)


class Writing(ScriptedModel):
    """A model that writes words (probabilities, strings) by a script, too."""

    def __init__(self, words: list[str], **script: Any) -> None:
        super().__init__(**script)
        self._scripts["word"] = iter(words)


async def spoken(model: ScriptedModel, seed: int = 1, **settings: Any) -> tuple[Context, dict[str, Any]]:
    context = a_context(model, seed=seed, **{"removal_factor": 0, "ending": "off", **settings})
    start = {"turn": 1, "round": 1, "speaker": "Mara", "present": ["Mara", "Piotr"], "sim_time_s": 0.0}
    return context, await build_utterance_graph().ainvoke(start, context=context)


def made(context: Context) -> list[Candidate]:
    return sorted(context.store.candidates(context.run, 1), key=lambda candidate: candidate.attempt)


# --- verbalised sampling --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("three")
async def test_replies_with_their_probabilities_are_candidates_in_the_order_in_which_they_are_drawn() -> None:
    firsts = []
    for seed in range(60):
        model = Writing(["0.7", "20%", "1/10"], speech=["Hm.", "No.", "So?"])
        context, outcome = await spoken(model, seed=seed, **THREE)
        found = {candidate.text: candidate.probability for candidate in made(context)}
        assert found == {"Hm.": 0.7, "No.": pytest.approx(0.2), "So?": pytest.approx(0.1)}
        assert [candidate.remark for candidate in made(context)] == [None, None, None]
        assert outcome["chosen"] == 0
        firsts.append(made(context)[0].text)
        (call,) = context.store.calls(context.run)
        assert [field["kind"] for field in call.parameters["fields"]] == ["speech", "word"] * 3
    assert 30 <= firsts.count("Hm.") <= 54
    assert firsts.count("No.")
    assert firsts.count("So?")


@pytest.mark.usefixtures("three")
async def test_the_prompt_asks_for_replies_and_probabilities_and_where_wanted_for_rare_ones() -> None:
    for settings, said in ((THREE, "as different as they can be"), ({**THREE, "verbalized_below": 0.1}, "than 0.1")):
        model = Writing([])
        await spoken(model, **settings)
        request: GenerationRequest = model.asked("generate")[0]
        assert request.prompt.source is not None
        text = "\n".join(unit.text for unit in request.prompt.source.units)
        assert said in text
        shape = json.loads(text[text.index('{"reply 1"') :].splitlines()[0])
        assert [*shape][:2] == ["reply 1", "probability of reply 1"]
        assert len(shape) == 6


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("words", "speech", "remark"),
    [
        (["high", "low", "?"], ["Hm.", "No.", "So?"], "no probability could be read: all replies had equal chances"),
        (["0.5", "low", "?"], ["Hm.", "No.", "So?"], "2 probabilities of 3 could not be read"),
        (["0.5", "0.2", "0.3"], ["Hm.", "hm!", "Hm"], "3 replies were asked for, 1 can be told apart"),
    ],
)
async def test_what_was_not_as_asked_for_is_said_with_the_first_candidate(
    words: list[str], speech: list[str], remark: str
) -> None:
    context, _ = await spoken(Writing(words, speech=speech), **THREE)
    first, *others = made(context)
    assert first.remark is not None
    assert remark in first.remark
    assert [candidate.remark for candidate in others] == [None] * len(others)


@pytest.mark.usefixtures("three")
async def test_where_nothing_can_be_read_one_reply_is_drawn_plainly_and_that_is_said() -> None:
    model = Writing([], speech=["what Mara says", "what Mara", "what Mara says", "The lamp."])
    context, outcome = await spoken(model, **THREE)
    (candidate,) = made(context)
    assert (candidate.text, outcome["chosen"]) == ("The lamp.", 0)
    assert candidate.remark == "no reply could be read: drawn plainly, in a call of its own"
    assert len(context.store.calls(context.run)) == 2


@pytest.mark.usefixtures("three")
async def test_a_conflict_takes_another_of_the_replies_and_asks_for_none() -> None:
    model = Writing(["0.5", "0.3", "0.2"], speech=["Hm.", "No.", "So?"], ratings=[9, 2])
    context, outcome = await spoken(model, **{**THREE, "removal_factor": 1, "revision": "rollback"})
    assert (outcome["chosen"], outcome["rollbacks"]) == (1, 1)
    assert [candidate.inconsistency for candidate in made(context)] == [9.0, 2.0, None]
    assert all(candidate.probability for candidate in made(context)), "judging keeps what was stated"
    assert sum(call.node == "generate" for call in context.store.calls(context.run)) == 1


@pytest.mark.usefixtures("three")
async def test_looking_for_sense_keeps_what_was_stated() -> None:
    model = Writing(["0.5", "0.3", "0.2"], speech=["Hm.", "No.", "So?"])
    context, _ = await spoken(model, redraws=2, **THREE)
    assert made(context)[0].faults is not None
    assert sorted(candidate.probability or 0 for candidate in made(context)) == pytest.approx([0.2, 0.3, 0.5])


FIELDS = [
    field
    for n in (1, 2)
    for field in (
        ReplyField(f"reply {n}", "speech", is_optional=True),
        ReplyField(f"probability of reply {n}", "word", is_optional=True),
    )
]


def test_a_hosted_model_may_leave_out_what_is_optional_and_write_a_list() -> None:
    tokenizer = RehearsalTokenizer()
    some = read_answer('{"reply 1": "Hm.", "probability of reply 1": 0.25}', FIELDS, tokenizer).fields
    assert some == {"reply 1": "Hm.", "probability of reply 1": "0.25", "reply 2": "", "probability of reply 2": ""}
    for written in ("1. Hm. (0.6)\n2. No. (0.4)", '{"replies": [{"text": "Hm.", "probability": 0.6}]}'):
        with pytest.raises(UnusableReplyError):
            read_answer(written, FIELDS, tokenizer)
        prose = read_prose(f"<think>\nso\n</think>{written}", FIELDS).fields
        assert prose["reply 1"] == written
    with pytest.raises(UnusableReplyError):
        read_prose(" … ", FIELDS)


# --- string seed of thought -----------------------------------------------------------------------------------------


async def test_the_random_string_is_asked_for_first_recorded_and_never_said() -> None:
    model = Writing(["x7Kq9"], speech=["The lamp is lit."])
    context, _ = await spoken(model, generation="string_seed")
    (candidate,) = made(context)
    assert (candidate.text, candidate.string_seed, candidate.remark) == ("The lamp is lit.", "x7Kq9", None)
    assert candidate.reply.fields == {"Mara": "The lamp is lit.", STRING_SEED: "x7Kq9"}
    assert "x7Kq9" not in candidate.reply.text
    first, past_last = candidate.reply.text_tokens
    assert RehearsalTokenizer().decode(candidate.reply.tokens[first:past_last]) == candidate.text
    (call,) = context.store.calls(context.run)
    assert [(field["name"], field["kind"]) for field in call.parameters["fields"]] == [
        ("random string", "word"),
        ("Mara", "speech"),
    ]


async def test_a_string_that_is_not_there_is_said_and_one_in_the_reply_is_taken_off() -> None:
    context, _ = await spoken(Writing(["letters"], speech=["The lamp is lit."]), generation="string_seed")
    (candidate,) = made(context)
    assert (candidate.text, candidate.string_seed) == ("The lamp is lit.", "")
    assert candidate.remark == "no random string was written"
    context, _ = await spoken(Writing([""], speech=["String: k3f9w. The lamp is lit."]), generation="string_seed")
    (candidate,) = made(context)
    assert (candidate.text, candidate.string_seed) == ("The lamp is lit.", "k3f9w")


async def test_a_conflict_draws_another_string_with_another_reply() -> None:
    model = Writing(["x7Kq9", "p2Lm4"], speech=["The lamp.", "The net."], ratings=[9, 2])
    settings = {"backups": "on_demand", "removal_factor": 1, "judge_runs": 1, "revision": "rollback"}
    context, outcome = await spoken(model, generation="string_seed", **settings)
    assert outcome["chosen"] == 1
    assert [(found.text, found.string_seed) for found in made(context)] == [
        ("The lamp.", "x7Kq9"),
        ("The net.", "p2Lm4"),
    ]


async def test_the_form_s_words_are_an_error_as_elsewhere() -> None:
    with pytest.raises(ModelError, match="repeated the words of the form"):
        await spoken(Writing(["x7"], speech=["what Mara says"]), generation="string_seed")


# --- runs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"generation": "verbalized"}, {"generation": "string_seed"}], ids=str)
@pytest.mark.parametrize("layout", ["single_message", "chat_turns"])
def test_rehearsed_runs_resume_fork_and_show_the_same(
    settings: dict[str, str], layout: str, cli: Cli, tmp_path: Path
) -> None:
    options = [f"--set={name}={value}" for name, value in {**settings, "layout": layout}.items()]
    asked = ("run", "tidewell", "--rehearse", "--lambda", "0.5", "--seed", "3", *options)
    whole = cli(*asked, "--rounds", "4", "--json").json["run"]
    part = cli(*asked, "--rounds", "2", "--json").json["run"]
    longer = cli("fork", part, "--at", "3", "--set", "max_turns=4", "--json").json["run"]
    again = cli("fork", whole, "--at", "1", "--json").json["run"]
    for other in (longer, again):
        assert not any(turn["differences"] for turn in cli("diff", whole, other, "--json").json["turns"])
    shown = cli("show", whole, "--turn", "2")
    candidates = cli("show", whole, "--turn", "2", "--json").json["candidates"]
    if settings["generation"] == "verbalized":
        assert all(0 <= candidate["probability"] <= 1 for candidate in candidates)
        assert "stated probability" in shown.out
        assert "5 replies in one, each with its probability" in shown.out
    else:
        assert all(len(candidate["string_seed"]) == 32 for candidate in candidates)
        assert f"random string: {candidates[0]['string_seed']}" in shown.out
        assert all(candidate["string_seed"] not in candidate["text"] for candidate in candidates)


def test_values_of_several_replies_have_bounds() -> None:
    assert Parameters().with_settings({"generation": "verbalized"}).drawn_max == 5
    assert Parameters().with_settings({"generation": "string_seed"}).drawn_max == 4
    for wrong in ({"verbalized_below": 0}, {"generation": "verbose"}):
        with pytest.raises(Exception, match=next(iter(wrong))):
            Parameters().with_settings(wrong)
