"""The exact text of prompts, their blocks and units, and the template files."""

import json
from typing import Any

import pytest
from support.dialogue_case import a_memory, a_pier, some_turns

from tertulia.models.rehearsal import RehearsalTokenizer
from tertulia.prompts.assemble import UtteranceMaterial, assemble_prompt, end_question, reply_object, reply_prefix_of
from tertulia.prompts.ending import assemble_ending
from tertulia.prompts.judge import assemble_judge_prompt
from tertulia.prompts.render import as_messages, render
from tertulia.prompts.templates import PromptTemplate, template
from tertulia.state.parameters import Layout, Parameters
from tertulia.state.records import BLOCK_INITIALS, Case, HumanNeeds, Participant, Persona, Prompt, Turn

FEELINGS = HumanNeeds(unsatisfied=(("very", "hungry"), ("", "tired")), emotion="sad", closeness="rather close")
LAYOUTS: tuple[Layout, ...] = ("single_message", "chat_turns")
AWKWARD = ['Mara "the Net" Vos', "Mara\\n", "$speaker", "{Mara}", "Мара 🦆", "<|im_end|>", "Mara\nVos"]


def material(speaker: str = "Mara", turns: int | list[Turn] = 2, **changes: Any) -> UtteranceMaterial:
    case = changes.pop("case", a_pier(memories=2))
    others = [name for name in case.names if name != speaker]
    known = {"start": case, "listeners": others, "memories": case.participant(speaker).memories}
    said = some_turns(turns) if isinstance(turns, int) else turns
    return UtteranceMaterial(speaker=speaker, turns=said, **{**known, **changes})


def assembled(about: UtteranceMaterial, layout: Layout = "single_message", blocks: str = "bmpec") -> Prompt:
    return assemble_prompt(about, layout, blocks, "bhmpe")


def shown(prompt: Prompt) -> str:
    """The prompt as a model reads it, markup as `<|role|>`."""
    tokenizer = RehearsalTokenizer()
    return tokenizer.decode(render(prompt, tokenizer, reply_prefix_of(prompt)).input_ids)


def texts(prompt: Prompt, block: str) -> list[str]:
    return [unit.text for unit in prompt.units if unit.block == block]


def named(name: str) -> Case:
    """The case of the pier with another name for who begins."""
    case = a_pier(memories=2)
    return case.model_copy(update={"initiator": Participant(persona=Persona(name=name), memories=())})


# --- golden texts ---------------------------------------------------------------------------------------------------


def test_a_single_message_reads_like_this() -> None:
    assert shown(assembled(material(human_needs=FEELINGS), blocks="bhmpec")) == (
        "<|user|>What follows is the setting of a conversation, told for Mara.\n"
        "This is Mara.\n"
        "Name: Mara\n"
        "Age: 34\n"
        "Character: patient, curious\n"
        "Background: Mara sells fish.\n"
        "This is how Mara feels right now.\n"
        "Mara is very hungry.\n"
        "Mara is tired.\n"
        "Mara feels extremely sad.\n"
        "Mara feels rather close to Piotr.\n"
        "This is what Mara remembers.\n"
        "- Mara thought of the ferry on day 0.\n"
        "- Mara thought of the harbour on day 1.\n"
        "Mara and Piotr have talked before.\n"
        "On Monday, 04 May, 18:05:\n"
        "Piotr: The lamp is broken.\n"
        "Mara: I have a spare.\n"
        "All of that lies behind them now.\n"
        "Where they are: the pier.\n"
        "How they met: Mara was busy (mending a net) when Piotr came along (reading). Mara speaks first.\n"
        "Mara and Piotr are talking. So far they have said this.\n"
        "Mara: Line 1.\n"
        "Piotr: Line 2.\n"
        "What does Mara say to Piotr next, and does that end the conversation?\n"
        "Stay in character as Mara. Say one thing at a time, in one to three spoken sentences, and do not repeat what "
        "was said.\n"
        'Answer with one JSON object of this form: {"Mara": "what Mara says", '
        '"Did the conversation end with Mara\'s utterance?": "true or false"}'
        "<|assistant|>"
    )


def test_the_judge_is_asked_like_this() -> None:
    prompt = assembled(material())
    statements = [unit for unit in prompt.units if unit.id in ("memory.m1", "environment.place")]
    question = assemble_judge_prompt("Mara", "Piotr", statements, 'I lost "$lead".')
    names = {"speaker": "Mara", "listener": "Piotr"}
    assert shown(question) == "".join(
        (
            f"<|user|>{template('judge').fill('lead', {})}\n",
            "Mara thought of the harbour on day 1.\n",
            "Where they are: the pier.\n",
            template("judge").fill("question", {**names, "reply": 'I lost "$lead".'}) + "\n",
            template("judge").fill("output_instruction", {}) + "<|assistant|>",
        )
    )
    assert 'I lost "$lead".' in shown(question)


def test_the_ending_shows_the_last_two_lines() -> None:
    rendered, options = assemble_ending("See you.", "Bye, $said!", RehearsalTokenizer())
    text = RehearsalTokenizer().decode(rendered.input_ids)
    assert text.endswith(": See you.\nB: Bye, $said!\n(they")
    assert len(set(options)) == 2
    opening, _ = assemble_ending(None, "Hello.", RehearsalTokenizer())
    assert "None" not in RehearsalTokenizer().decode(opening.input_ids)


# --- blocks and units -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", ["bmpec", "cempb", "mc", "c", "pcbe", "bhmpec", "ecbmph"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_blocks_stand_in_the_order_of_their_initials(layout: Layout, blocks: str) -> None:
    prompt = assembled(material(human_needs=FEELINGS), layout, blocks)
    initials = {name: initial for initial, name in BLOCK_INITIALS.items()}
    assert "".join(initials[block] for block in prompt.blocks() if block in initials) == blocks
    assert prompt.blocks()[0] == "opening"
    instructions = ("task", "special_rules", "output_instruction")
    if layout == "single_message":
        assert prompt.blocks()[-3:] == instructions
    else:
        at = prompt.blocks().index("current_dialogue")
        assert prompt.blocks()[at - 4 : at] == (*instructions, "example")


def test_human_needs_stand_after_basic_info_where_they_are_switched_on() -> None:
    def order(**settings: object) -> str:
        return Parameters().with_settings(settings).blocks

    assert order() == "bmpec"
    assert order(human_needs=True) == "bhmpec"
    assert order(human_needs=True, block_order="cempb") == "cempbh"
    assert order(human_needs=True, block_order="mpec") == "hmpec"
    assert order(human_needs=True, block_order="bmpech") == "bmpech"
    assert order(human_needs=False, block_order="bmpech") == "bmpec"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("removable", ["bhmpe", "m", "pe", ""])
def test_removable_are_the_items_of_the_chosen_blocks(layout: Layout, removable: str) -> None:
    prompt = assemble_prompt(material(human_needs=FEELINGS), layout, "bhmpec", removable)
    chosen = {BLOCK_INITIALS[initial] for initial in removable}
    for unit in prompt.units:
        assert unit.removable == (unit.kind == "item" and unit.block in chosen)
    assert {unit.block for unit in prompt.units if unit.removable} == chosen


@pytest.mark.parametrize("layout", LAYOUTS)
def test_blocks_without_items_are_not_rendered(layout: Layout) -> None:
    case = a_pier().model_copy(update={"previous_dialogues": ()})
    prompt = assembled(material(case=case, memories=()), layout, "bhmpec")
    assert not {"human_needs", "memory", "previous_dialogues"} & set(prompt.blocks())
    shown_none = assembled(material(previous_dialogues_max=0), layout)
    assert "previous_dialogues" not in shown_none.blocks()


def test_the_latest_previous_dialogues_are_shown() -> None:
    (only,) = a_pier().previous_dialogues
    dialogues = tuple(only.model_copy(update={"time": only.time.replace(day=day)}) for day in (1, 2, 3))
    case = a_pier().model_copy(update={"previous_dialogues": dialogues})
    shown_texts = texts(assembled(material(case=case, previous_dialogues_max=2)), "previous_dialogues")
    assert [text.splitlines()[0] for text in shown_texts[1:-1]] == [
        "On Saturday, 02 May, 18:05:",
        "On Sunday, 03 May, 18:05:",
    ]


def test_the_environment_says_only_what_is_known() -> None:
    def environment(**changes: object) -> list[str]:
        return texts(assembled(material(case=a_pier().model_copy(update=changes))), "environment")

    idle = a_pier().partner.model_copy(update={"activity": None})
    assert environment(place=None) == [
        "How they met: Mara was busy (mending a net) when Piotr came along (reading). Mara speaks first."
    ]
    assert "What it is about: The nets are torn." in environment(description="The nets are torn.")
    assert environment(partner=idle) == [
        "Where they are: the pier.",
        "How they met: Mara came across Piotr and speaks first.",
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_both_are_told_the_same_of_who_speaks_first(layout: Layout) -> None:
    mara = assembled(material(speaker="Mara"), layout)
    piotr = assembled(material(speaker="Piotr"), layout)
    assert texts(mara, "environment") == texts(piotr, "environment")
    told = "Mara speaks first." if layout == "single_message" else "Piotr came along (reading)."
    assert texts(mara, "environment")[-1].endswith(told)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_unit_ids_are_unique_and_those_of_the_turn_before(layout: Layout) -> None:
    early = assembled(material(turns=2, human_needs=FEELINGS), layout, "bhmpec")
    later = assembled(material(turns=4, human_needs=FEELINGS), layout, "bhmpec")
    ids = [unit.id for unit in later.units]
    assert len(set(ids)) == len(ids)
    before = {unit.id: unit.text for unit in early.units}
    now = {unit.id: unit.text for unit in later.units}
    assert before.items() <= now.items()
    assert now.keys() - before.keys() == {"current_dialogue.turn_3", "current_dialogue.turn_4"}
    assert all(unit.id.startswith(f"{unit.block}.") for unit in later.units)


# --- chat turns -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", range(5))
@pytest.mark.parametrize("speaker", ["Mara", "Piotr"])
@pytest.mark.parametrize("blocks", ["bmpec", "cempb"])
def test_roles_alternate_from_the_user_on(speaker: str, turns: int, blocks: str) -> None:
    prompt = assembled(material(speaker=speaker, turns=turns), "chat_turns", blocks)
    roles = [role for role, _ in as_messages(prompt)]
    assert roles == ["system", *(["user", "assistant"] * len(roles))[: len(roles) - 1]]
    if (turns % 2 == 0) == (speaker == "Mara"):  # it is their turn
        assert roles[-1] == "user"


def test_own_lines_are_json_objects_and_those_of_the_other_plain() -> None:
    last = some_turns(3)[-1].model_copy(update={"ended": True, "text": 'Say "ja".'})
    prompt = assembled(material(turns=[*some_turns(2), last]), "chat_turns")
    lines = [unit for unit in prompt.units if unit.id.startswith("current_dialogue.turn_")]
    assert [unit.speaker for unit in lines] == ["Mara", "Piotr", "Mara"]
    assert json.loads(lines[0].text) == {"Mara": "Line 1.", end_question("Mara"): False}
    assert lines[1].text == "Line 2."
    assert json.loads(lines[2].text) == {"Mara": 'Say "ja".', end_question("Mara"): True}
    silent = assembled(material(turns=1, asks_ending=False), "chat_turns")
    assert json.loads(silent.units[-1].text) == {"Mara": "Line 1."}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("asks_ending", [True, False])
def test_replies_stay_json_objects_under_awkward_names(name: str, asks_ending: bool) -> None:
    about = material(speaker=name, case=named(name), memories=(), turns=[], asks_ending=asks_ending)
    for layout in LAYOUTS:
        prompt = assembled(about, layout)
        (instruction,) = texts(prompt, "output_instruction")
        asked = json.loads(instruction[instruction.index('{"') :])
        assert list(asked) == [name, end_question(name)][: 1 + asks_ending]
    ended = True if asks_ending else None
    reply = reply_object(name, "Hm.", ended)
    assert json.loads(reply) == {name: "Hm.", **({end_question(name): True} if asks_ending else {})}
    chat = assembled(about, "chat_turns")
    assert reply.startswith(reply_prefix_of(chat))
    assert json.loads(reply_prefix_of(chat) + 'Hm."}') == {name: "Hm."}
    assert reply_prefix_of(assembled(about)) == ""


# --- templates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_dollar_in_what_people_say_is_data(layout: Layout) -> None:
    costly = "It costs $listener $5, ${name} $$ and a $"
    memories = (a_memory(0, costly),)
    turns = [turn.model_copy(update={"text": costly}) for turn in some_turns(2)]
    prompt = assembled(material(memories=memories, turns=turns), layout)
    assert texts(prompt, "memory")[-1] == f"- {costly}"
    assert prompt.units[-1 if layout == "chat_turns" else -4].text.endswith(costly)


def test_a_variable_that_is_not_declared_is_refused_when_the_file_is_read() -> None:
    with pytest.raises(ValueError, match=r"greeting: entry 'section.entry' .*\['whom'\]"):
        PromptTemplate("greeting", "variables: [who]\nsection:\n  entry: Hello $who and $whom\n")
    with pytest.raises(ValueError, match=r"entry 'entry' holds a \$ that begins no variable"):
        PromptTemplate("greeting", "variables: [who]\nentry: 5 $ each\n")


def test_a_variable_or_an_entry_that_is_missing_is_an_error() -> None:
    greeting = PromptTemplate("greeting", "variables: [who]\nsection:\n  entry: Hello $who\n")
    assert greeting.fill("section.entry", {"who": "Mara", "unused": 1}) == "Hello Mara"
    assert ("section.entry" in greeting, "entry" in greeting) == (True, False)
    with pytest.raises(KeyError, match="who"):
        greeting.fill("section.entry", {})
    with pytest.raises(KeyError, match="other"):
        greeting.fill("other", {"who": "Mara"})
