"""Minds that hear: what is said moves the parts of willingness of whom it touches, and of nobody else."""

import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import pytest
from support.dialogue_case import a_context
from support.meeting_case import an_attendee, held, with_people

from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.nodes.meeting.bid import computed_parts
from tertulia.nodes.meeting.touch import touch_of
from tertulia.nodes.meeting.view import View
from tertulia.state.cognition import Bid, Character, SubGoal, Touch
from tertulia.state.context import Context, RunCache
from tertulia.state.graph_state import cognition_of, first_state
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import Parameters
from tertulia.state.person import Goal
from tertulia.state.records import Turn, TurnRecord

MATTER = "The rope of the crane is worn, and the winch of the crane is rusty."
OTHER = "Herring and mackerel sell badly at the stall this week."
NOBODYS = "Twelve umbrellas hang in the hall."
COMMON = {*re.findall(r"\w+", "a an and at for in is it its of on that the this to was with")}


class WordEmbedder:
    """Counts words but the commonest, each in a dimension of its own: the rehearsal's words share 64."""

    id = "words"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    embed_untruncated = embed

    @staticmethod
    def _vector(text: str) -> list[float]:
        vector = np.zeros(4096)
        for word in re.findall(r"\w+", text.lower()):
            if word not in COMMON:
                vector[int.from_bytes(blake2b(word.encode(), digest_size=2).digest(), "big") % 4096] += 1
        vector[0] += 0.5  # no text is without a direction
        return list(vector / np.linalg.norm(vector))


def two_trades() -> Meeting:
    """Ana mends cranes and wants a winch, Bo sells fish, Cy chairs the harbour; all are alike besides."""

    def person(name: str, work: str, wish: str, *interests: str) -> object:
        goal = Goal(text=wish, sub_goals=(wish,))
        alike = {"goals": (goal,), "interests": interests, "memories": (), "descriptions": (), "setting": work}
        return an_attendee(name, **alike)

    people = (
        person("Ana", "Repairs the crane and its winch.", "get a new rope for the crane", "winch", "crane"),
        person("Bo", "Sells herring and mackerel at a stall.", "sell more herring at the stall", "herring", "mackerel"),
        person("Cy", "Writes letters to the ministry.", "send a letter to the ministry", "letters", "ministry"),
    )
    return with_people(*people)  # type: ignore[arg-type]


def a_view(context: Context, name: str, round: int, noticed: Sequence[int]) -> View:
    """Return somebody's view of a round, everybody there from the start."""
    state = {**first_state(context.meeting), "round": round, "present": list(context.meeting.names)}
    view = View.of(cognition_of(state, name), context)  # type: ignore[arg-type]
    return replace(view, sim_time_s=0.0, mind={**view.mind, "noticed": list(noticed)})


def after(line: str | None, name: str, **settings: object) -> dict[str, float]:
    """Return somebody's parts after a line of somebody's who has no name here, and nothing else."""
    return {**computed_parts(view := a_view_of(name, line, **settings), 0.0, 0.0, touch_of(view))}  # type: ignore


def a_view_of(name: str, line: str | None, **settings: object) -> View:
    context = replace(a_context(start=two_trades(), removal_factor=0, **settings), embedder=WordEmbedder())
    for person in context.meeting.participants:
        plan = tuple(SubGoal(goal=0, text=goal.text, share=1) for goal in person.goals)
        character = Character(big_five=person.big_five, descriptions=(), plan=plan)
        context.store.save_step(context.run, 0, person.persona.name, "prepare", character)
    speaker = next(other for other in context.meeting.names if other != name)
    if line is not None:
        turn = Turn(turn=1, round=1, speaker=speaker, text=line, sim_time_s=0.0, ended=False)
        context.store.save_turn(context.run, TurnRecord(turn=turn))
    return a_view(context, name, 2, [1] if line is not None else [])


@pytest.mark.parametrize("part", ["topic", "goal"])
@pytest.mark.parametrize(("line", "whose"), [(MATTER, "Ana"), (OTHER, "Bo")])
def test_a_line_about_somebodys_matter_moves_them_more_than_the_others(line: str, whose: str, part: str) -> None:
    moved = {name: after(line, name)[part] - after(NOBODYS, name)[part] for name in ("Ana", "Bo", "Cy")}
    others = [of_other for name, of_other in moved.items() if name != whose]
    assert moved[whose] > 0.3
    assert moved[whose] > 2 * max(others)


def test_a_line_that_touches_nobody_makes_nobody_want_to_speak() -> None:
    for line in (NOBODYS, "Many tourists photograph old bridges.", "My uncle reads thick novels on trains."):
        for name in ("Ana", "Bo", "Cy"):
            parts = after(line, name)
            assert parts["topic"] < 0.4
            assert sum(parts.values()) / 4 < Parameters().willingness_threshold


def test_what_was_said_fades_and_ones_own_words_touch_nobody() -> None:
    context = a_view_of("Ana", MATTER).context

    def touch_after(*speakers: str) -> Touch:
        for number, speaker in enumerate(speakers, start=2):
            turn = Turn(turn=number, round=number, speaker=speaker, text=NOBODYS, sim_time_s=0.0, ended=False)
            context.store.save_turn(context.run, TurnRecord(turn=turn))
        numbers = [1, *range(2, 2 + len(speakers))]
        return touch_of(a_view(context, "Ana", 2 + len(speakers), numbers))

    fresh, faded = touch_after(), touch_after("Cy")
    assert (fresh.turn, fresh.about) == (1, "crane")
    assert faded.topic == pytest.approx(0.6 * fresh.topic)
    assert touch_of(a_view(context, "Bo", 2, [1])).topic < fresh.topic


def test_what_is_done_touches_no_goal() -> None:
    view = a_view_of("Ana", MATTER)
    assert touch_of(view).goal > 0.5

    class Done(View):
        def done(self) -> list[bool]:
            return [True]

    assert touch_of(Done(**vars(view))).goal == 0


def test_who_is_nothing_but_a_name_is_not_touched() -> None:
    bare = [an_attendee(name, memories=(), descriptions=(), persona={"name": name}) for name in ("Ana", "Bo")]
    context = a_context(start=with_people(*bare), removal_factor=0)
    for name in ("Ana", "Bo"):
        context.store.save_step(context.run, 0, name, "prepare", Character(big_five=(), descriptions=(), plan=()))
    touch = touch_of(a_view(context, "Ana", 1, []))
    assert (touch.topic, touch.goal, touch.emotion, touch.about) == (0.0, 0.0, 0.0, None)


# --- the record -----------------------------------------------------------------------------------------------------


async def test_every_bid_and_what_it_comes_from_recompute_from_the_store() -> None:
    """In another process nothing is kept: the state before each `decide` is read, and everything is embedded again."""
    context, turns = await held(two_trades(), max_turns=6)
    found = 0
    for turn in turns:
        trace = context.store.trace(context.run, turn.turn)
        assert trace is not None
        for visit in (visit for visit in trace.visits if visit.node == "decide"):
            view = View.of(visit.before, replace(context, kept=RunCache(), embedder=RehearsalEmbedder()))  # type: ignore
            touch = touch_of(view)
            assert context.store.step(context.run, view.round, view.name, "hear", Touch) == touch
            assert visit.update is not None
            open_bid = visit.update["bids"][view.name]
            parts = computed_parts(view, open_bid["address"], open_bid["need"], touch)
            assert {part: open_bid[part] for part in parts} == parts
            bid = context.store.step(context.run, view.round, view.name, "bid", Bid)
            assert bid is not None
            assert bid.parts is not None
            assert (bid.parts.topic, bid.parts.goal, bid.parts.emotion) == (
                parts["topic"],
                parts["goal"],
                parts["emotion"],
            )
            found += 1
    assert found >= 12


async def test_the_paper_computes_willingness_and_nobody_is_asked_what_they_hear() -> None:
    assert Parameters().willingness == "heard"
    assert Parameters().with_settings({"preset": "paper"}).willingness == "computed"
    context, _ = await held(two_trades(), max_turns=3, willingness="computed")
    assert context.store.steps(context.run, "hear", Touch) == {}
