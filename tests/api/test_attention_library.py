"""Attention as a library: scores and removed units are those of a run, and mistakes are told in a sentence."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from support.tiny import save_tiny, tiny_language_model

import tertulia as tt
from tertulia.attention import open_model, prune, unit_scores
from tertulia.prompts.render import as_messages, text_of
from tertulia.state.cognition import Call
from tertulia.state.errors import TertuliaError
from tertulia.state.records import Prompt, TurnRecord
from tertulia.storage.store import SqlStore

UNITS = ["Ana sold the boat.", "Ana likes rain.", "Bo fixed the crane."]
MESSAGES = [
    {"role": "system", "content": f"You are Ana. {UNITS[0]} {UNITS[1]}"},
    {"role": "user", "content": f"{UNITS[2]} What about the boat?"},
]
REPLY = "I sold it in March."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def turn(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[TurnRecord, Prompt, Call]:
    """The second turn of a run of the tiny model, its prompt, and the call that scored it."""
    path = tmp_path_factory.mktemp("run") / "tertulia.db"
    settings = {"max_utterance_tokens": 12, "judge": "off", "ending": "off", "redraws": 0}
    settings |= {"memory_items_min": 2, "memory_items_max": 4, "previous_dialogues_max": 0}
    run = tt.run(
        "tidewell", model=str(folder), removal_factor=0.5, rounds=2, settings=settings, store=path, progress=False
    )
    with SqlStore.open(path) as store:
        record = store.turn_record(run.id, 2)
        (call,) = (call for call in store.calls(run.id) if call.kind == "generate_scored" and call.round == 2)
        return record, store.prompt(str(record.prompt)), call


def contents(prompt: Prompt) -> list[dict[str, str]]:
    return [{"role": role, "content": text_of(units)} for role, units in as_messages(prompt)]


def test_scores_are_those_of_a_run(folder: Path, turn: tuple[TurnRecord, Prompt, Call]) -> None:
    record, prompt, call = turn
    model, prefix = open_model(str(folder)), str(call.parameters.get("begun", ""))
    scored = [
        unit_scores(model, contents(prompt), prompt.units, reply.tokens, reply_prefix=prefix) for reply in call.replies
    ]
    assert record.scores is not None
    mean = {unit: sum(scores[unit] for scores in scored) / len(scored) for unit in record.scores}
    assert mean == pytest.approx(record.scores, abs=1e-6)
    assert max(record.scores.values()) > 1e-2  # which is no comparison of nothing with nothing


def test_what_is_removed_is_what_a_run_removes(turn: tuple[TurnRecord, Prompt, Call]) -> None:
    record, prompt, _ = turn
    assert record.scores is not None
    kept, removed, reached = prune(prompt.units, record.scores, 0.5)
    assert (removed, kept) == (
        list(record.removed),
        [unit.id for unit in prompt.units if unit.id not in record.removed],
    )
    assert removed
    total = sum(record.scores[unit.id] for unit in prompt.units if unit.removable)
    gone = sum(record.scores[unit.id] for unit in prompt.units if unit.removable and unit.id in removed)
    assert reached == pytest.approx(gone / total, abs=1e-12)


def test_an_opened_model_and_a_name_give_the_same_and_the_model_is_left_as_it_was(folder: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder)
    before = model.config._attn_implementation
    opened = unit_scores((model, AutoTokenizer.from_pretrained(folder)), MESSAGES, UNITS, REPLY)
    assert model.config._attn_implementation == before
    same = open_model(str(folder), precision="float32")  # as transformers loads it
    assert opened == pytest.approx(unit_scores(same, MESSAGES, UNITS, REPLY), abs=1e-6)
    assert opened == pytest.approx(unit_scores(str(folder), MESSAGES, UNITS, REPLY), abs=1e-2)
    assert list(opened) == UNITS
    assert all(score > 0 for score in opened.values())


async def test_messages_of_langchain_and_ids_do_and_so_does_a_running_loop() -> None:
    model = tiny_language_model()
    messages = [SystemMessage(MESSAGES[0]["content"]), HumanMessage(MESSAGES[1]["content"])]
    by_id = unit_scores(model, messages, dict(zip("abc", UNITS, strict=True)), REPLY)
    assert list(by_id.values()) == list(unit_scores(model, MESSAGES, UNITS, REPLY).values())
    assert list(by_id) == ["a", "b", "c"]


def scored(**changed: Any) -> Any:
    arguments = {"model": tiny_language_model(), "messages": MESSAGES, "units": UNITS, "reply": REPLY, **changed}
    return unit_scores(**arguments)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: scored(units=["Nobody wrote this."]), r"^units: 'Nobody wrote this\.' does not stand in the messages"),
        (lambda: scored(units=UNITS[::-1]), r"not behind the units before it"),
        (lambda: scored(units=[UNITS[0], UNITS[0]]), r"stands twice; give texts that are the same ids"),
        (lambda: scored(units=[]), r"^units=\[\]: takes a list of texts"),
        (lambda: scored(reply=""), r"^reply: is empty"),
        (lambda: scored(messages=[{"role": "assistant", "content": "Hi"}]), r"^messages: the last is a message of"),
        (lambda: scored(messages=[{"text": "Hi"}]), r"^messages: \{'text': 'Hi'\} is none such as"),
        (lambda: scored(model=3), r"^model=3: takes a name, \(model, tokenizer\)"),
        (lambda: scored(model="openai:gpt-9"), r"openai:gpt-9"),
        (lambda: scored(layers="7"), r"scored_layers=7: the layers of"),
        (lambda: prune(["a"], {"a": 1.0}, 1.5), r"^removal_factor=1\.5: a number in \[0, 1\] is expected$"),
        (lambda: prune(["a", "b"], {"a": 1.0}, 0.5), r"^scores: has none for the unit 'b'"),
    ],
)
def test_a_mistake_is_told(call: Any, says: str) -> None:
    with pytest.raises(TertuliaError, match=says):
        call()
