"""Speech acts by prototypes, and who leads, mediates, proposes and gets things done, on hand-made conversations."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.spoken_lines import CALIBRATION, HELD_OUT, LETTERS_AT_RANDOM, REHEARSED, STEERED, WORDS_AT_RANDOM

from tertulia.metrics.behaviour import NEAR, LabelledLine, PersonBehaviour, behaviour, labelled_line
from tertulia.metrics.speech_acts import (
    ACTS,
    NO_ACT,
    PROTOTYPES,
    SURE,
    SURE_MARGIN,
    ActLabel,
    LineLabels,
    acts_by_prototypes,
    cosine,
)
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.state.cognition import Assessment, Character, InformationNeed, MechanismChoice, SubGoal
from tertulia.state.language_model import Embedder
from tertulia.state.records import Turn

#: Two subjects that have nothing to do with each other, and what lies between them.
FRUIT, DATE, BOTH = (1.0, 0.0), (0.0, 1.0), (0.5**0.5, 0.5**0.5)

_LETTERS = dict(zip("PAOMSTJC", ACTS, strict=True))


def line(turn: int, speaker: str, *acts: str) -> LabelledLine:
    return LabelledLine(turn=turn, round=turn, speaker=speaker, text=f"Line {turn}.", acts=acts)


def turns_of(lines: Sequence[object]) -> list[int]:
    return [line.turn for line in lines]  # type: ignore[attr-defined]


def behaviour_of(
    lines: list[LabelledLine], vectors: list[tuple[float, float]] | None = None, **minds: object
) -> dict[str, PersonBehaviour]:
    people = tuple(dict.fromkeys(line.speaker for line in lines)) or ("Ana",)
    found = behaviour(people, lines, vectors or [FRUIT] * len(lines), **minds)  # type: ignore[arg-type]
    return {person.agent: person for person in found}


def acts_of(labels: LineLabels) -> set[str]:
    return {label.act for label in labels.labels}


# --- speech acts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", PROTOTYPES)
def test_a_prototype_does_its_own_act(act: str) -> None:
    for sentence in PROTOTYPES[act]:
        (found,) = acts_by_prototypes([sentence], RehearsalEmbedder())
        # The stand-in's few dimensions may take two prototypes for the same.
        acts = {label.act: label.cosine for label in found.labels}
        assert act in acts or (act == NO_ACT and not acts) or max(acts.values(), default=1.0) > 0.99


def test_an_utterance_does_what_its_sentences_do() -> None:
    both = f"{PROTOTYPES['agrees'][1]} {PROTOTYPES['minds_time'][0]}"
    nothing = PROTOTYPES[NO_ACT][0]
    found = acts_by_prototypes([both, nothing, "", "…"], RehearsalEmbedder(), threshold=0.99)
    assert [acts_of(line) for line in found] == [{"agrees", "minds_time"}, set(), set(), set()]
    assert acts_by_prototypes([], RehearsalEmbedder()) == []
    assert [line.nearest for line in acts_by_prototypes(["", "  "], RehearsalEmbedder())] == [0.0, 0.0]
    (too_far,) = acts_by_prototypes([both], RehearsalEmbedder(), threshold=1.1)
    assert (too_far.labels, too_far.nearest) == ((), pytest.approx(1))


@given(st.lists(st.text(" .?abcde", max_size=40), max_size=5))
def test_how_sure_a_label_is_follows_from_cosine_and_margin(texts: list[str]) -> None:
    for line in acts_by_prototypes(texts, RehearsalEmbedder(), threshold=0.1):
        assert [label.cosine for label in line.labels] == sorted((x.cosine for x in line.labels), reverse=True)
        assert len({label.act for label in line.labels}) == len(line.labels)
        for label in line.labels:
            assert 0.1 <= label.cosine <= line.nearest + 1e-9
            assert label.margin >= 0
            assert label.is_doubtful == (label.cosine < SURE or label.margin < SURE_MARGIN)


def _f1(lines: Sequence[tuple[str, str]], labelled: Sequence[LineLabels]) -> float:
    found = [acts_of(line) for line in labelled]
    given = [{_LETTERS[letter] for letter in letters if letter != "-"} for _, letters in lines]
    right = sum(len(a & b) for a, b in zip(given, found, strict=True))
    return 2 * right / (sum(map(len, given)) + sum(map(len, found)))


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    from tertulia.models.loading import open_embedder

    return open_embedder("minilm")


@pytest.mark.slow
def test_labels_agree_with_those_by_hand_as_the_documentation_says(embedder: Embedder) -> None:
    figures = [
        _f1(lines, acts_by_prototypes([text for text, _ in lines], embedder)) for lines in (CALIBRATION, HELD_OUT)
    ]
    assert figures == pytest.approx([0.86, 0.73], abs=0.02)
    near = [
        sum(
            cosine(embedder.embed([text])[0], vector) >= NEAR
            for text, *kinds in STEERED
            for vector in embedder.embed(kinds[k])
        )
        for k in (0, 1)
    ]
    assert near == [12, 4]


@pytest.mark.slow
def test_nonsense_is_labelled_as_often_and_as_doubtfully_as_the_documentation_says(embedder: Embedder) -> None:

    def counted(texts: Sequence[str]) -> tuple[int, int, int]:
        lines = [labelled_line(a_turn(text), labels) for text, labels in zip(
            texts, acts_by_prototypes(texts, embedder), strict=True)]  # fmt: skip
        return (
            sum(bool(line.acts) for line in lines),
            sum(line.is_doubtful for line in lines),
            sum(line.is_near_nothing for line in lines),
        )

    assert counted([text for text, _ in CALIBRATION]) == pytest.approx((54, 16, 2), abs=1)
    assert counted([text for text, _ in HELD_OUT]) == pytest.approx((32, 8, 1), abs=1)
    assert counted(REHEARSED) == pytest.approx((166, 84, 22), abs=3)
    assert counted(WORDS_AT_RANDOM) == pytest.approx((135, 96, 59), abs=3)
    assert counted(LETTERS_AT_RANDOM[:50]) == (0, 0, 50)
    right = {False: [0, 0], True: [0, 0]}  # by whether a label is doubtful: right ones, all
    for (_, letters), line in zip(HELD_OUT, acts_by_prototypes([text for text, _ in HELD_OUT], embedder), strict=True):
        for label in line.labels:
            right[label.is_doubtful][0] += label.act in {_LETTERS.get(letter) for letter in letters}
            right[label.is_doubtful][1] += 1
    assert right == {False: [20, 24], True: [5, 10]}


def a_turn(text: str) -> Turn:
    return Turn(turn=1, round=1, speaker="Bo", text=text, sim_time_s=8, ended=False)


@pytest.mark.parametrize(
    ("labels", "nearest", "doubtful", "near_nothing"),
    [
        ([("agrees", 0.6, 0.2)], 0.6, False, False),
        ([("agrees", 0.35, 0.2)], 0.35, True, False),
        ([("agrees", 0.6, 0.01)], 0.6, True, False),
        ([("agrees", 0.6, 0.01), ("jokes", 0.5, 0.1)], 0.6, False, False),
        ([], 0.7, False, False),
        ([], 0.2, False, True),
    ],
)
def test_a_line_is_doubtful_when_all_its_labels_are(
    labels: list[tuple[str, float, float]], nearest: float, doubtful: bool, near_nothing: bool
) -> None:
    found_labels = tuple(ActLabel(act=act, cosine=cosine, margin=margin) for act, cosine, margin in labels)
    found = labelled_line(a_turn("Yes."), LineLabels(labels=found_labels, nearest=nearest))
    assert (found.acts, found.is_doubtful, found.is_near_nothing) == (
        tuple(label.act for label in found_labels),
        doubtful,
        near_nothing,
    )
    (person,) = behaviour(["Bo"], [found], [FRUIT])
    assert sum(person.doubtful.values()) == sum(label.is_doubtful for label in found_labels)


# --- leadership -----------------------------------------------------------------------------------------------------


def test_to_lead_is_to_be_followed() -> None:
    # Eva turns from fruit to the date, and is followed; Bo turns back to fruit, and is not.
    lines = [
        line(1, "Bo"),
        line(2, "Cy"),
        line(3, "Eva", "steers"),
        line(4, "Bo"),
        line(5, "Eva"),
        line(6, "Cy"),
        line(7, "Bo", "steers"),
        line(8, "Cy"),
        line(9, "Eva"),
    ]
    found = behaviour_of(lines, [FRUIT, FRUIT, DATE, DATE, DATE, DATE, FRUIT, DATE, DATE])
    (eva,), (bo,) = found["Eva"].steering, found["Bo"].steering
    assert (eva.turn, eva.next, turns_of(eva.followed_by), eva.followed) == (3, 2, [4, 6], True)
    assert (bo.turn, bo.next, turns_of(bo.followed_by), bo.followed) == (7, 2, [], False)
    assert {name: (person.followed, person.leadership) for name, person in found.items()} == {
        "Bo": (0, 0.0),
        "Cy": (0, 0.0),
        "Eva": (1, 1.0),
    }


def test_nobody_leads_where_nobody_is_followed() -> None:
    lines = [line(1, "Eva", "steers"), line(2, "Bo"), line(3, "Bo", "steers")]
    found = behaviour_of(lines, [DATE, DATE, FRUIT])
    assert found["Eva"].steering == ()  # there is nothing before it to turn from
    assert (found["Bo"].steering[0].next, found["Bo"].steering[0].followed) == (0, False)
    assert found["Bo"].leadership is None


def test_steering_tells_what_its_speaker_had_switched_on() -> None:
    choices = {name: MechanismChoice(active=name == "time_analysis", reason="") for name in ("time_analysis", "recall")}
    needs = {(2, "Eva"): InformationNeed(key_information="", mechanisms=choices)}
    found = behaviour_of([line(1, "Bo"), line(2, "Eva", "steers")], needs=needs)
    assert found["Eva"].steering[0].mechanisms == ("time_analysis",)


# --- mediation and proposals ----------------------------------------------------------------------------------------


def test_mediation_settles_an_objection_when_somebody_agrees_and_nobody_objects() -> None:
    quarrel = [line(1, "Bo", "proposes"), line(2, "Cy", "objects"), line(3, "Eva", "mediates")]
    (settled,) = behaviour_of([*quarrel, line(4, "Cy", "agrees"), line(5, "Bo")])["Eva"].mediation
    assert (turns_of(settled.objections), turns_of(settled.agreed_by), settled.settled) == ([2], [4], True)
    (refused,) = behaviour_of([*quarrel, line(4, "Cy", "agrees"), line(5, "Bo", "objects")])["Eva"].mediation
    assert not refused.settled
    (idle,) = behaviour_of([line(1, "Bo"), line(2, "Eva", "mediates"), line(3, "Bo", "agrees")])["Eva"].mediation
    assert not idle.settled  # there was nothing to settle
    her_objection = [line(1, "Eva", "objects"), line(2, "Eva", "mediates"), line(3, "Bo", "agrees")]
    assert not behaviour_of(her_objection)["Eva"].mediation[0].settled


def test_a_proposal_tells_who_takes_it_up_and_how_new_it_is() -> None:
    lines = [
        line(1, "Bo", "proposes"),
        line(2, "Bo", "agrees"),
        line(3, "Cy", "agrees", "proposes"),
        line(4, "Eva", "objects"),
        line(5, "Eva", "agrees"),
    ]
    found = behaviour_of(lines, [FRUIT, FRUIT, BOTH, FRUIT, FRUIT])
    (bo,), (cy,) = found["Bo"].proposals, found["Cy"].proposals
    assert (turns_of(bo.agreed_by), turns_of(bo.objected_by)) == ([3], [4])  # not his words, nor the fourth line
    assert (turns_of(cy.agreed_by), turns_of(cy.objected_by)) == ([5], [4])
    assert (bo.novelty, cy.novelty) == pytest.approx((1, 1 - 0.5**0.5))


# --- closure --------------------------------------------------------------------------------------------------------


def assessed(*done: bool) -> Assessment:
    return Assessment(situation="", thought="", emotion="calm", emotion_strength=0, done=done)


def test_goals_are_met_when_their_steps_stay_done() -> None:
    steps = tuple(SubGoal(goal=0, text=text, share=share) for text, share in (("a", 0.5), ("b", 0.3), ("c", 0.2)))
    characters = {
        "Eva": Character(big_five=(), descriptions=(), plan=steps),
        "Bo": Character(big_five=(), descriptions=(), plan=()),
    }
    # The first step is done, undone, and done for good; the second from the start; the third never.
    seen = [(True, True, False), (False, True, False), (True, True, False), (True, True, False)]
    assessments = {(round, "Eva"): assessed(*done) for round, done in enumerate(seen, start=1)}
    found = behaviour_of([line(1, "Bo"), line(2, "Eva"), line(3, "Bo")], characters=characters, assessments=assessments)
    plan = found["Eva"].plan
    assert plan is not None
    assert [(step.done_in_round, step.line and step.line.turn) for step in plan] == [(3, 2), (1, None), (None, None)]
    assert found["Eva"].goals_met == pytest.approx(0.8)
    assert (found["Bo"].plan, found["Bo"].goals_met) == (None, None)
