"""Prompts in the paper's words (`wording=paper`): the exact text, and that they are units, names and forms as ever."""

import json
from datetime import datetime
from typing import Any

import pytest
from support.album_case import a_population
from support.dialogue_case import a_pier, some_turns

from tertulia.models.rehearsal import RehearsalTokenizer
from tertulia.prompts.album import CallMaterial, PastExchange, assemble_call
from tertulia.prompts.assemble import UtteranceMaterial, assemble_prompt
from tertulia.prompts.judge import assemble_judge_prompt
from tertulia.prompts.placeholders import form_of
from tertulia.prompts.render import render
from tertulia.prompts.several import asking_for_candidates, candidate_keys
from tertulia.prompts.templates import template
from tertulia.state.parameters import ALBUM_CHAT, Parameters, Setting, Wording
from tertulia.state.records import Appointment, Case, HumanNeeds, Prompt

FEELINGS = HumanNeeds(unsatisfied=(("very", "hungry"), ("", "tired")), emotion="sad", closeness="rather close")
TOKENIZER = RehearsalTokenizer()


def material(case: Case | None = None, turns: int = 2, wording: Wording = "paper", **changes: Any) -> UtteranceMaterial:
    case = case or a_pier(memories=2)
    return UtteranceMaterial(
        start=case,
        speaker="Mara",
        listeners=["Piotr"],
        memories=case.initiator.memories,
        turns=some_turns(turns),
        human_needs=FEELINGS,
        special_rules=False,
        wording=wording,
        **changes,
    )


def assembled(**changes: Any) -> Prompt:
    return assemble_prompt(material(**changes), "single_message", "bhmpec", "bhmpe")


def shown(prompt: Prompt) -> str:
    return TOKENIZER.decode(render(prompt, TOKENIZER).input_ids)


def of_block(prompt: Prompt, block: str) -> list[str]:
    return [unit.text for unit in prompt.units if unit.block == block]


# --- golden texts ---------------------------------------------------------------------------------------------------


def test_the_prompt_for_an_utterance_has_the_structure_of_table_9() -> None:
    assert shown(assembled()) == (
        "<|user|>Context for the task:\n"
        "This is a brief description of Mara.\n"
        "Name: Mara\n"
        "Age: 34\n"
        "Learned traits: Mara sells fish.\n"
        "Innate traits: patient, curious\n"
        "This is the status of Mara's psychological needs:\n"
        "Mara is very hungry.\n"
        "Mara is tired.\n"
        "Mara is feeling extremely sad.\n"
        "Mara is feeling rather close to Piotr.\n"
        "This is the memory that is in Mara's head:\n"
        "- Mara thought of the ferry on day 0.\n"
        "- Mara thought of the harbour on day 1.\n"
        "Past Context:\n"
        "Piotr: The lamp is broken.\n"
        "Mara: I have a spare.\n"
        "The current context takes place after the conversation above.\n"
        "Current Location: the pier\n"
        "Current Context: Mara was mending a net when Mara saw Piotr in the middle of reading. "
        "Mara is the one initiating the conversation with Piotr.\n"
        "Mara and Piotr are chatting. This is their conversation so far:\n"
        "Mara: Line 1.\n"
        "Piotr: Line 2.\n"
        "---\n"
        "Task: Given the above, what should Mara say next to Piotr in the conversation? And does it end the "
        "conversation?\n"
        'Output format: a json of the following format: {"Mara": "Mara\'s utterance", '
        '"Did the conversation end with Mara\'s utterance?": "<json Boolean>"}'
        "<|assistant|>"
    )


def test_the_judge_is_asked_as_in_4_1() -> None:
    statements = [unit for unit in assembled().units if unit.id in ("memory.m1", "environment.place")]
    question = assemble_judge_prompt("Mara", "Piotr", statements, "I lost $5.", wording="paper")
    assert shown(question) == (
        "<|user|>- Mara thought of the harbour on day 1.\n"
        "Current Location: the pier\n"
        "Mara is now in a chat with Piotr and is going to say 'I lost $5.'. Are there inconsistencies between the "
        "statements above and this response? Generate a comment, and assign a score from 1 to 10: the higher the "
        "score, the greater the inconsistency.\n"
        'Output format: a json of the following format: {"comment": "your comment", "score": <a number from 1 to 10>}'
        "<|assistant|>"
    )
    assert form_of(question) == {"comment": "your comment"}


@pytest.mark.parametrize(("number", "in_words"), [(2, "TWO"), (10, "TEN"), (20, "TWENTY")])
def test_candidates_are_asked_for_as_in_5_and_not_to_be_about_something_else(number: int, in_words: str) -> None:
    prompt = assembled()
    asking = asking_for_candidates(prompt, number, asks_ending=True, wording="paper")
    assert asking.units[:-2] == prompt.units[:-2]
    task, form = asking.units[-2:]
    assert task.text == f"{prompt.units[-2].text} Please output {in_words} candidates"
    assert form.text.startswith(f"Output format: a json of the following format, with all {in_words} candidates: {{")
    assert not any("something else" in unit.text for unit in (task, form))
    pairs = candidate_keys(number, wording="paper")
    assert pairs[0] == ("candidate 1", "Did the conversation end with candidate 1?")
    filled = [(text, "Mara's utterance") for text, _ in pairs], [(end, "<json Boolean>") for _, end in pairs]
    assert list(json.loads(form.text[form.text.index("{") :]).items()) == [
        pair for pairs_of_candidate in zip(*filled, strict=True) for pair in pairs_of_candidate
    ]


def test_nothing_said_nothing_known_and_no_ending_read_like_this() -> None:
    prompt = assembled(turns=0, asks_ending=False)
    assert of_block(prompt, "current_dialogue") == [
        "Mara and Piotr are chatting. Their conversation so far has no utterance."
    ]
    assert of_block(prompt, "task")[0].endswith("say next to Piotr in the conversation?")
    assert of_block(prompt, "output_instruction")[0].endswith('format: {"Mara": "Mara\'s utterance"}')
    case = a_pier(memories=0).model_copy(update={"previous_dialogues": (), "description": "The ferry is late."})
    strangers = case.model_copy(update={"partner": case.partner.model_copy(update={"activity": None})})
    prompt = assembled(case=strangers)
    assert (of_block(prompt, "memory"), of_block(prompt, "previous_dialogues")) == ([], [])
    assert of_block(prompt, "environment") == [
        "Current Location: the pier",
        "Current Situation: The ferry is late.",
        "Current Context: Mara saw Piotr. Mara is the one initiating the conversation with Piotr.",
    ]
    made = Appointment(run="k3f9", number=1, made=datetime(2026, 5, 4, 18, 5), what="Come to the pier.")
    met = assembled(case=case.model_copy(update={"appointment": made}))
    assert of_block(met, "environment")[-1].startswith(
        'Current Context: Mara and Piotr had agreed on it on Monday, 04 May, 18:05 ("Come to the pier."). Mara was'
    )


ROLE = (
    "Your environment description has the following points:[\n"
    "Ana 1 is chatting with Ana 2.\n"
    "]\n"
    "Your role description has the following properties:[\n"
    "Name: Ana 1\n"
    "Hobby: kites\n"
    "]\n"
    "Your chat history has the following records:[\n"
)
HISTORY = "Ana 2 showed Ana 1 an image (red kite: of Ana 1) and asked: What is it?\nAna 1 said: A kite.\n"
TASKS: dict[tuple[str, Setting], str] = {
    ("plan", "low"): "Considering your environment description, role description and chat history, please select an "
    "image from your album.",
    ("question", "low"): "Considering your environment description, role description and chat history, please ask a "
    "simple question about the image.",
    ("answer", "low"): "Considering your environment description, role description and chat history:\nHow high?",
    ("plan", "high"): "Behaving as you are Ana 1, please select an image from your album and explain why.",
    ("question", "high"): "Behaving as you are Ana 1, please ask a question about the image.",
    ("answer", "high"): "Behaving as you are Ana 1:\nHow high?",
}


def album_prompt(call: str, setting: Setting, wording: Wording = "paper", **changes: Any) -> Prompt:
    population = a_population(2, pictures=2)
    plain = population.pictures[1].model_copy(update={"variant": None})
    given: dict[str, Any] = {
        "speaker": population.villagers[0],
        "place": None,
        "history": [PastExchange("Ana 2", "Ana 1", population.pictures[0], "What is it?", "A kite.")],
        "album": [population.pictures[0], plain],
        "picture": None if call == "plan" else plain,
        "is_seen": True,
        "question": "How high?" if call == "answer" else "",
        **changes,
    }
    pair = ("Ana 2", "Ana 1") if call == "answer" else ("Ana 1", "Ana 2")
    material = CallMaterial(call=call, setting=setting, asker=pair[0], answerer=pair[1], wording=wording, **given)
    return assemble_call(material, "single_message", Parameters().with_settings(ALBUM_CHAT))


@pytest.mark.parametrize(("call", "setting"), TASKS)
def test_an_album_chat_has_the_texts_of_figures_13_to_15(call: str, setting: Setting) -> None:
    prompt = album_prompt(call, setting)
    album = "Your album has the following images:[\nred kite: of Ana 1\nstone bridge:\n]"
    pair = ("Ana 1 is chatting with Ana 2", "Ana 2 is chatting with Ana 1")
    role = ROLE.replace(*pair) if call == "answer" else ROLE
    assert "\n".join(unit.text for unit in prompt.units[:-1]) == (
        f"{role}{HISTORY}]\n{album if call == 'plan' else 'The image (stone bridge)'}\n{TASKS[call, setting]}"
    )


def test_a_history_without_records_is_shown_as_one_and_a_picture_that_is_not_seen_is_told() -> None:
    prompt = album_prompt("question", "high", history=[], is_seen=False)
    assert of_block(prompt, "previous_dialogues") == ["Your chat history has the following records:[\n]"]
    assert of_block(prompt, "picture")[0] == "The image shows this: stone bridge"
    assert of_block(prompt, "current_dialogue") == [
        "Behaving as you are Ana 1, please ask a question about the image of stone bridge."
    ]
    assert of_block(album_prompt("question", "high", "own", history=[]), "previous_dialogues") == []


@pytest.mark.parametrize("call", ["plan", "question", "answer"])
def test_items_of_an_album_chat_have_the_same_ids_in_both_wordings(call: str) -> None:
    def items(wording: Wording) -> list[tuple[str, str, bool]]:
        units = album_prompt(call, "low", wording).units
        return [(unit.id, unit.block, unit.removable) for unit in units if unit.kind == "item"]

    assert items("paper") == items("own")


# --- units, names and forms are as ever -----------------------------------------------------------------------------


def test_units_have_the_ids_and_kinds_that_they_have_in_our_words() -> None:
    def kept(wording: Wording) -> dict[str, tuple[str, str, bool]]:
        return {unit.id: (unit.block, unit.kind, unit.removable) for unit in assembled(wording=wording).units}

    assert kept("paper") == kept("own")
    assert list(kept("paper")) != list(kept("own")), "learned traits stand before innate ones"


# --- the file -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("section", ["utterance", "judge", "sequential", "album"])
def test_each_entry_stands_for_one_of_ours(section: str) -> None:
    own, paper = template(section), template(section, wording="paper")
    alone = {"sequential": "in_words.", "album": (".tail", ".empty")}.get(section, ())
    assert paper.entries
    assert {e for e in paper.entries if not (e.startswith(alone) or e.endswith(alone))} <= own.entries
    assert all(entry in paper for entry in own.entries)


def test_what_the_paper_does_not_print_is_said_in_our_words() -> None:
    for file, entry in (("utterance", "basic_info.home"), ("sequential", "candidate"), ("chat_turns", "task.text")):
        given = dict.fromkeys(["speaker", "listener", "value", "number"], "x")
        assert template(file, wording="paper").fill(entry, given) == template(file).fill(entry, given)


def test_other_languages_do_not_have_them() -> None:
    with pytest.raises(ValueError, match="wording=paper is in English only, and not in de"):
        template("utterance", "de", "paper")
