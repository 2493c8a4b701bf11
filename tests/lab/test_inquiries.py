"""What somebody of a stored conversation is asked in character: who they are, what they heard, and what is kept."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from support.group_stored import a_group_run
from support.meeting_case import a_quay, an_attendee, at
from support.scripted import ScriptedModel
from support.stored import a_case, a_run

from tertulia.lab.annotations.annotating import answers_to
from tertulia.lab.annotations.asking import Response, inquiry, questions_given, responses
from tertulia.prompts.templates import template
from tertulia.state.cognition import Assessment, Character, SubGoal
from tertulia.state.errors import ModelError, NotFoundError, UsageError
from tertulia.state.records import ParticipantModel, RunRecord, Turn, TurnRecord
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.store import SqlStore
from tertulia.worlds.questionnaire import Question

QUESTION = Question(text="What do you hope for?")
SIGN = Question(text="Will you sign?", options=("yes", "no", "not yet"))
CONTENT = Question(text="How content are you?", scale=(1, 12))


@pytest.fixture
def store() -> SqlStore:
    return SqlStore.open(":memory:", create=True)


def a_meeting_of_six_turns(store: SqlStore, **changes: Any) -> RunRecord:
    """Store a meeting: Bo comes before turn 4 and Dee leaves before turn 6; Ana thinks in every round."""
    record = a_group_run("m33t", status="finished", model="scripted", **changes)
    meeting = a_quay(
        participants=(
            a_quay().participants[0].model_copy(update={"secrets": ("Ana has sold her boat.",)}),
            an_attendee("Bo", joins=at(0.5)),
            an_attendee("Cy"),
            an_attendee("Dee", leaves=at(0.9)),
        )
    )
    store.create_run(record, meeting)
    plan = tuple(SubGoal(goal=0, text=text, share=0.5) for text in ("find the money", "agree on a day"))
    for name in meeting.names:
        store.save_step(
            "m33t", 0, name, "prepare", Character(big_five=("open",), descriptions=(f"{name} waves.",), plan=plan)
        )
    for number in range(1, 7):
        speaker = None if number == 5 else ("Ana", "Cy")[number % 2]
        turn = Turn(
            turn=number, round=number, speaker=speaker, text=f"Line {number}.", sim_time_s=10.0 * number, ended=False
        )
        assessment = Assessment(
            situation=f"It is turn {number}.",
            thought=f"Thought {number}.",
            emotion="worried",
            emotion_strength=0.6,
            done=(number > 3, False),
        )
        store.save_step("m33t", number, "Ana", "assess", assessment)
        store.save_turn("m33t", TurnRecord(turn=turn))
    return store.run("m33t")


async def ask(
    store: SqlStore,
    run: RunRecord,
    person: str,
    questions: Sequence[Question] | None,
    model: ScriptedModel,
    **more: Any,
) -> list[Response]:
    asked = inquiry(store, run, person, questions, **more)
    return responses(store, await answers_to(asked.requests, store, run, "scripted", lambda: model))


# --- what is asked --------------------------------------------------------------------------------------------------


async def test_somebody_is_asked_by_all_that_they_are_and_have_heard_until_a_turn(store: SqlStore) -> None:
    run = a_meeting_of_six_turns(store)
    (response,) = await ask(store, run, "ana", [QUESTION], ScriptedModel(comments=["A crane."]), at=4)
    assert (response.person, response.at, response.answer, response.seed) == ("Ana", 4, "A crane.", run.seed)
    lines = response.prompt.splitlines()
    assert lines[:6] == [
        "This is a part of a conversation.",
        "Ana: The crane has to be mended before summer.",
        *(f"{('Ana', 'Cy')[number % 2]}: Line {number}." for number in range(1, 5)),
    ]
    for known in (
        "- Ana keeps a boat at the quay.",
        "What only Ana knows: Ana has sold her boat.",
        "Personality: open",
        "- Ana waves.",
        "Goal: get the crane mended",
        "- done: find the money",
        "- still to do: agree on a day",
        "How things stand, as Ana sees it: It is turn 4.",
        "Ana feels worried (6 of 10).",
        "Ana thinks: Thought 4.",
        "Question: What do you hope for?",
    ):
        assert known in lines, known


async def test_nobody_is_told_what_they_have_not_heard_or_what_others_keep_to_themselves(store: SqlStore) -> None:
    run = a_meeting_of_six_turns(store)
    (late,) = await ask(store, run, "Bo", [QUESTION], ScriptedModel())
    assert "Line 2." not in late.prompt
    assert "Line 3." in late.prompt
    assert "(ten seconds of silence)" in late.prompt
    for secret in ("sold her boat", "Thought", "mended before summer"):
        assert secret not in late.prompt
    (before,) = await ask(store, run, "Ana", [QUESTION], ScriptedModel(), at=0)
    assert "Line 1." not in before.prompt
    assert "Thought" not in before.prompt


async def test_the_latecomer_of_a_meeting_in_which_all_is_heard_is_told_all(store: SqlStore) -> None:
    run = a_meeting_of_six_turns(store, parameters={**a_group_run("m33t").parameters, "hearing": "all"})
    (late,) = await ask(store, run, "Bo", [QUESTION], ScriptedModel())
    assert "Line 1." in late.prompt


@pytest.mark.parametrize("language", ["de", "es", "fr", "zh"])
async def test_the_prompt_is_in_the_language_of_the_run(store: SqlStore, language: str) -> None:
    run = a_meeting_of_six_turns(store, parameters={**a_group_run("m33t").parameters, "language": language})
    (response,) = await ask(store, run, "Ana", [SIGN], ScriptedModel())
    assert template("questions", language).fill("person", {"name": "Ana"}) in response.prompt
    assert "This is Ana." not in response.prompt


# --- what is answered -----------------------------------------------------------------------------------------------


async def test_options_and_numbers_are_drawn_by_their_probabilities_which_are_kept(store: SqlStore) -> None:
    run = a_meeting_of_six_turns(store)
    drawn: list[Response] = []
    for seed in range(60):
        drawn += await ask(store, run, "Ana", [SIGN, CONTENT], ScriptedModel(), seed=seed)
    signs = [each for each in drawn if each.question == SIGN.text]
    probabilities = signs[0].probabilities
    assert probabilities is not None
    assert list(probabilities) == list(SIGN.options)
    assert sum(probabilities.values()) == pytest.approx(1)
    assert all(each.probabilities == probabilities for each in signs)
    for option, share in probabilities.items():
        assert sum(each.answer == option for each in signs) / 60 == pytest.approx(share, abs=0.2)
    numbers = [each for each in drawn if each.question == CONTENT.text]
    assert all(isinstance(each.answer, int) and 1 <= each.answer <= 12 for each in numbers)
    assert list(numbers[0].probabilities or ()) == [str(number) for number in range(1, 13)]
    assert responses(store, Annotations(store.file).of("m33t", "asked")) != []


async def test_a_model_that_tells_no_probabilities_chooses(store: SqlStore) -> None:
    run, model = a_meeting_of_six_turns(store), ScriptedModel(text_only=True)
    sign, content = await ask(store, run, "Ana", [SIGN, CONTENT], model)
    assert sign.answer in SIGN.options
    assert sign.probabilities is content.probabilities is None
    assert model.asked("probabilities") == []


async def test_what_was_asked_is_not_asked_again_unless_by_another_seed_or_at_another_turn(store: SqlStore) -> None:
    run, model = a_meeting_of_six_turns(store), ScriptedModel()
    first = await ask(store, run, "Ana", [QUESTION, SIGN], model)
    asked = len(model.calls)
    assert await ask(store, run, "Ana", [SIGN, QUESTION], model) == first[::-1]
    assert len(model.calls) == asked
    await ask(store, run, "Ana", [QUESTION], model, seed=run.seed + 1)
    await ask(store, run, "Ana", [QUESTION], model, at=3)
    assert len(model.asked("generate_batch")) == 3
    kept = responses(store, Annotations(store.file).of("m33t"))
    assert len(kept) == 4
    assert first[0] in kept


async def test_the_same_seed_gives_the_same_answers_whatever_else_is_asked(store: SqlStore) -> None:
    run = a_meeting_of_six_turns(store)
    other = SqlStore.open(":memory:", create=True)
    again = a_meeting_of_six_turns(other)
    together = await ask(store, run, "Ana", [QUESTION, SIGN, CONTENT], ScriptedModel(), seed=7)
    apart = [(await ask(other, again, "Ana", [each], ScriptedModel(), seed=7))[0] for each in (CONTENT, SIGN, QUESTION)]
    assert apart[::-1] == together


async def test_answers_before_a_failure_are_kept(store: SqlStore) -> None:
    run = a_meeting_of_six_turns(store)
    questions = [Question(text=f"Question {number}?") for number in range(12)]
    with pytest.raises(ModelError):
        await ask(store, run, "Ana", questions, ScriptedModel(fails_at=12))
    assert len(Annotations(store.file).of("m33t")) == 10


async def test_people_of_a_dialogue_are_asked_too(store: SqlStore) -> None:
    store.create_run(a_run("d1al", model="scripted"), a_case())
    name = store.start("d1al").names[0]
    (response,) = await ask(store, store.run("d1al"), name, [QUESTION], ScriptedModel())
    assert response.at == 0
    assert f"This is {name}." in response.prompt
    assert len(await ask(store, store.run("d1al"), name, None, ScriptedModel())) == 44


def test_the_model_that_speaks_for_somebody_answers_for_them(store: SqlStore) -> None:
    run = a_meeting_of_six_turns(store, participant_models={"Cy": ParticipantModel(model="other", parameters={})})
    assert inquiry(store, run, "Cy", [QUESTION]).model == "other"
    assert inquiry(store, run, "Ana", [QUESTION]).model == "scripted"


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("person", "turn", "kind", "words"),
    [
        ("Nora", None, NotFoundError, "nobody named 'Nora' takes part in run m33t"),
        ("Ana", 7, NotFoundError, "run m33t has no turn 7; it has turns 1 to 6"),
        ("Bo", 0, UsageError, "Bo is not there before the first turn: Bo comes at 15:00:30; ask somebody who is"),
        ("Bo", 2, UsageError, "Bo is not there after turn 2, at 15:00:20: Bo comes at 15:00:30"),
        ("Dee", None, UsageError, "Dee is not there after turn 6, at 15:01:00: Dee left at 15:00:54"),
    ],
)
def test_who_can_t_be_asked_is_told(
    store: SqlStore, person: str, turn: int | None, kind: type[Exception], words: str
) -> None:
    run = a_meeting_of_six_turns(store)
    with pytest.raises(kind) as error:
        inquiry(store, run, person, [QUESTION], turn)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Question(text=" "), "a question is empty; ask something"),
        (lambda: Question(text="Q", options=("a",)), "Question 'Q': has one option"),
        (lambda: Question(text="Q", scale=(5, 1)), "the scale goes from a lower number to a higher one"),
        (lambda: Question.model_validate({"text": "Q", "option": []}), "did you mean 'options'?"),
        (lambda: questions_given([], None), "there is no question; ask something"),
        (lambda: questions_given(["inventory", "Why?"], None), "inventory is a questionnaire by itself"),
    ],
)
def test_a_question_that_is_none_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(UsageError) as error:
        make()
    assert words in str(error.value)
