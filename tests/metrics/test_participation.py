"""Table II of a run: counts by hand on a small meeting, and what must hold for any."""

import math

import pytest

from tertulia.metrics.participation import OnOff, Participation, Person, evenness, participation
from tertulia.state.cognition import Bid, InformationNeed, MechanismChoice, WillingnessParts
from tertulia.state.records import Turn

RATE_WPM, SILENCE_S = 120.0, 10.0


def turn(round: int, speaker: str | None, text: str = "", sim_time_s: float = 0.0) -> Turn:
    return Turn(turn=round, round=round, speaker=speaker, text=text, sim_time_s=sim_time_s, ended=False)


def bid(willing: bool, won: bool = False) -> Bid:
    parts = WillingnessParts(topic=0.5, goal=0.5, emotion=0.5, personality=0.5)
    return Bid(
        parts=parts,
        willingness=0.5,
        willing=willing,
        similarity=0.0,
        similarity_max=None,
        latency_scale_s=2.0,
        latency_spread_s=1.0,
        persistence=1.0,
        latency_s=2.0 if willing else None,
        won=won,
    )


def need(**active: bool) -> InformationNeed:
    return InformationNeed(
        key_information="", mechanisms={name: MechanismChoice(active=on, reason="") for name, on in active.items()}
    )


def a_meeting_of_three() -> Participation:
    """Ana speaks twice, Bo once; Cy comes in round 3 and says nothing; round 5 never ended."""
    turns = [
        turn(1, "Ana", "one two three four", 2.0),
        turn(2, None, "", 4.0),
        turn(3, "Bo", "one two", 15.0),
        turn(4, "Ana", "one  two\nthree four five six", 20.0),
    ]
    bids = {
        (1, "Ana"): bid(True, won=True),
        (1, "Bo"): bid(True),
        (2, "Ana"): bid(False),
        (2, "Bo"): bid(False),
        (3, "Ana"): bid(True),
        (3, "Bo"): bid(True, won=True),
        (3, "Cy"): bid(False),
        (4, "Ana"): bid(True, won=True),
        (4, "Bo"): bid(False),
        (4, "Cy"): bid(True),
        (5, "Ana"): bid(True),
    }
    needs = {(r, who): need(memory=who == "Ana" and r < 3, mention=False) for r, who in bids}
    people = [Person(agent="Ana", traits=("open",), setting="hurries"), Person(agent="Bo"), Person(agent="Cy")]
    return participation(people, turns, RATE_WPM, SILENCE_S, ("memory", "mention"), bids, needs)


def test_table_2_by_hand() -> None:
    ana, bo, cy = a_meeting_of_three().agents
    assert (ana.spoken, ana.wanting_to_speak, ana.decisions, ana.silent) == (2, 3, 4, 1)
    assert (bo.spoken, bo.wanting_to_speak, bo.decisions, bo.silent) == (1, 2, 4, 2)
    assert (cy.spoken, cy.wanting_to_speak, cy.decisions, cy.silent) == (0, 1, 2, 1)
    assert ana.mechanisms == {"memory": OnOff(on=2, off=2), "mention": OnOff(on=0, off=4)}
    assert cy.mechanisms == {"memory": OnOff(on=0, off=2), "mention": OnOff(on=0, off=2)}
    assert [(person.wanting_after_silence, person.speaking_after_silence) for person in (ana, bo, cy)] == [
        (1, 0),
        (1, 1),
        (0, 0),
    ]
    assert (ana.traits, ana.setting, bo.traits) == (("open",), "hurries", None)


def test_speaking_time_and_shares() -> None:
    ana, bo, cy = a_meeting_of_three().agents
    assert [person.words for person in (ana, bo, cy)] == [10, 2, 0]
    assert [person.speaking_time_s for person in (ana, bo, cy)] == [5.0, 1.0, 0.0]
    assert [person.share_of_utterances for person in (ana, bo, cy)] == pytest.approx([2 / 3, 1 / 3, 0])
    assert [person.share_of_speaking_time for person in (ana, bo, cy)] == pytest.approx([10 / 12, 2 / 12, 0])


def test_time_is_the_clocks_and_words_are_those_of_other_measures() -> None:
    """A word with a hyphen is one to the clock and two to measures; a dash between spaces is one and none."""
    turns = [turn(1, "Ana", "a well-known half-day trip"), turn(2, "Bo", "so – yes")]
    ana, bo = participation([Person(agent="Ana"), Person(agent="Bo")], turns, RATE_WPM, SILENCE_S).agents
    assert (ana.words, bo.words) == (6, 2)
    assert (ana.speaking_time_s, bo.speaking_time_s) == (4 / RATE_WPM * 60, 3 / RATE_WPM * 60)
    assert (ana.share_of_speaking_time, bo.share_of_speaking_time) == pytest.approx((4 / 7, 3 / 7))


def test_the_whole_run() -> None:
    run = a_meeting_of_three()
    assert (run.turns, run.silences, run.silence_s) == (4, 1, SILENCE_S)
    assert run.sim_minutes == (20 + 3) / 60
    entropy = -(2 / 3) * math.log(2 / 3) - (1 / 3) * math.log(1 / 3)
    assert run.evenness == pytest.approx(entropy / math.log(3))


def test_a_run_that_ends_in_silence_ends_after_it() -> None:
    run = participation([Person(agent="Ana")], [turn(1, None, sim_time_s=50.0)], RATE_WPM, SILENCE_S, (), {}, {})
    assert run.sim_minutes == 1.0
    assert (run.agents[0].share_of_utterances, run.agents[0].share_of_speaking_time) == (None, None)


def test_a_dialogue_has_no_cognition() -> None:
    people = [Person(agent="Ana"), Person(agent="Bo")]
    run = participation(people, [turn(1, "Ana", "one two"), turn(2, "Bo", "one")], RATE_WPM, SILENCE_S)
    ana = run.agents[0]
    unknown = (ana.wanting_to_speak, ana.silent, ana.decisions, ana.mechanisms, ana.wanting_after_silence, ana.latency)
    assert set(unknown) == {None}
    assert (ana.spoken, ana.words, ana.speaking_time_s, ana.share_of_utterances) == (1, 2, 1.0, 0.5)
    assert run.evenness == pytest.approx(1.0)


def test_who_never_came_does_not_make_the_floor_uneven() -> None:
    people = [Person(agent=name) for name in ("Ana", "Bo", "Cy")]
    turns = [turn(1, "Ana", "one"), turn(2, "Bo", "one")]
    bids = {(r, who): bid(True) for r in (1, 2) for who in ("Ana", "Bo")}
    run = participation(people, turns, RATE_WPM, SILENCE_S, (), bids, {})
    assert run.evenness == pytest.approx(1.0)
    assert (run.agents[2].decisions, run.agents[2].share_of_utterances) == (0, 0.0)


@pytest.mark.parametrize(("counts", "expected"), [([], None), ([3], None), ([0, 0], None), ([4, 0], 0), ([5, 5, 5], 1)])
def test_evenness_at_its_ends(counts: list[int], expected: float | None) -> None:
    assert evenness(counts) == (None if expected is None else pytest.approx(expected))
