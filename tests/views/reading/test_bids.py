"""What raised or lowered a bid: every figure follows from the record, and is computed here anew."""

from pathlib import Path
from typing import Any

import pytest

import tertulia
from tertulia.nodes.meeting.willingness import moved, weighted_sum
from tertulia.state.cognition import Bid, Perception, Rating, Touch, WillingnessParts, WillingnessRatings
from tertulia.state.meeting import WillingnessWeights
from tertulia.state.parameters import Parameters
from tertulia.storage.store import SqlStore
from tertulia.views.reading.bids import bid_in_words, bid_reasons, change_in_words
from tertulia.views.reading.rounds import AgentRound
from tertulia.views.reading.turns import read_turn

COMPUTED = Parameters(willingness="computed")


def an_agent(parts: dict[str, float], before: dict[str, float] | None = None, **more: Any) -> AgentRound:
    perception = Perception(turn=0, similarities={}, relevance=0.5, named=False, noticed=True, importance=1.0)
    empty: dict[str, Any] = {"need": None, "findings": {}, "assessment": None, "ratings": None, "typed": None}
    of_bid = {name: more.pop(name) for name in ("address", "need_to_speak") if name in more}
    return AgentRound(
        *("Ann", WillingnessWeights(), perception),
        **empty
        | {"bid": a_bid(parts, of_bid.get("address", 0.0), of_bid.get("need_to_speak", 0.0))}
        | {"before": None if before is None else a_bid(before)}
        | more,
    )


def a_bid(parts: dict[str, float], address: float = 0.0, need: float = 0.0) -> Bid:
    weighted = weighted_sum(WillingnessWeights(), **parts)
    known: dict[str, Any] = {"similarity": 0.0, "similarity_max": None, "latency_scale_s": 2.0}
    known |= {"latency_spread_s": 1.0, "persistence": 1.0, "latency_s": None, "won": False}
    willing = weighted + 1e-9 >= COMPUTED.willingness_threshold
    return Bid(
        parts=WillingnessParts(**parts), willingness=weighted, willing=willing, address=address, need=need, **known
    )


BASE = {"topic": 0.4, "goal": 0.2, "emotion": 0.3, "personality": 0.5}


def test_the_parts_are_those_of_the_bid_and_their_changes_sum_to_that_of_w() -> None:
    found = bid_reasons(an_agent({**BASE, "topic": 0.8, "goal": 0.1}, BASE, propensity=0.5), COMPUTED)
    assert found is not None
    assert [part.part for part in found.parts] == ["topic", "personality", "emotion", "goal"]
    assert [part.weighted for part in found.parts] == pytest.approx([0.2, 0.125, 0.075, 0.025])
    assert sum(part.change or 0.0 for part in found.parts) == pytest.approx(found.change) == pytest.approx(0.075)
    assert {part.part: part.change for part in found.changes} == pytest.approx({"topic": 0.1, "goal": -0.025})
    assert found.raises == ()
    agent = an_agent({**BASE, "topic": 0.8, "goal": 0.1}, BASE, propensity=0.5)
    assert bid_in_words(agent, COMPUTED) == "up 0.07 since the round before (the topic +0.10, goals −0.03)"
    fallen = bid_reasons(an_agent({**BASE, "topic": 0.8, "goal": 0.1, "emotion": 0.0}, {**BASE, "goal": 1.0}), COMPUTED)
    assert fallen is not None
    assert change_in_words(fallen) == "down 0.20 since the round before (goals −0.23)", (
        "what went the other way is not why"
    )


@pytest.mark.parametrize(("need", "address", "silence"), [(0.3, 0.5, 0.2), (0.0, 0.1, 0.0), (0.6, 0.0, 0.4)])
def test_what_raised_a_bid_is_w_less_the_same_without_it(need: float, address: float, silence: float) -> None:
    def parts(need: float, address: float, silence: float) -> dict[str, float]:
        personality = moved(BASE["personality"], address, need, silence)
        raised = {"topic": moved(BASE["topic"], address), "emotion": moved(BASE["emotion"], need)}
        return {**BASE, **raised, "personality": personality}

    def w(need: float, address: float, silence: float) -> float:
        return weighted_sum(WillingnessWeights(), **parts(need, address, silence))

    agent = an_agent(parts(need, address, silence), address=address, need_to_speak=need, propensity=BASE["personality"])
    found = bid_reasons(agent, COMPUTED)
    assert found is not None
    whole = w(need, address, silence)
    expected = {
        "address": whole - w(need, 0.0, silence),
        "need": whole - w(0.0, address, silence),
        "silence": whole - w(need, address, 0.0),
    }
    assert {raised.cause: raised.amount for raised in found.raises} == {
        cause: pytest.approx(amount) for cause, amount in expected.items() if amount >= 0.005
    }
    for raised in found.raises:
        enough = whole - expected[raised.cause] + 1e-9 >= COMPUTED.willingness_threshold
        assert raised.is_decisive == (whole >= COMPUTED.willingness_threshold and not enough)


def test_a_whole_move_leaves_no_amount() -> None:
    asked = an_agent({**BASE, "topic": 1.0, "personality": 1.0}, address=1.0, propensity=0.5)
    found = bid_reasons(asked, COMPUTED)
    assert found is not None
    assert [(raised.cause, raised.amount) for raised in found.raises] == [("address", None)]
    assert bid_in_words(asked, COMPUTED) == "being asked by name has moved a part all the way to 1"


def test_ratings_are_raised_by_silence_alone_and_nobody_has_reasons_for_no_bid() -> None:
    rating = Rating(rating=5, reason="")
    ratings = WillingnessRatings(topic=rating, goal=rating, emotion=rating, personality=rating)
    rated = an_agent({**BASE, "personality": 0.6}, address=1.0, need_to_speak=0.5, ratings=ratings)
    found = bid_reasons(rated, Parameters(willingness="rated"))
    assert found is not None
    assert {raised.cause: raised.amount for raised in found.raises} == pytest.approx({"silence": 0.025})
    assert bid_reasons(an_agent(BASE, bid=None), COMPUTED) is None
    assert bid_in_words(an_agent(BASE, bid=None), COMPUTED) == ""


def test_what_was_heard_says_which_line_touched_the_agent() -> None:
    touch = Touch(turn=2, about="They like the lake.", topic=0.4, goal=0.1, emotion=0.1)
    told = bid_in_words(an_agent(BASE, touch=touch, propensity=0.5), Parameters())
    assert told == "turn 2 touched them by “They like the lake”"


def test_a_stored_meeting_tells_of_every_bid(tmp_path: Path) -> None:
    run = tertulia.run("team_building", rehearse=True, rounds=5, store=tmp_path / "t.db", progress=False)
    with SqlStore.open(tmp_path / "t.db") as store:
        record = store.run(run.id)
        for turn in range(2, record.turns + 1):
            details = read_turn(store, record, store.start(run.id), turn)
            assert details.round is not None
            for agent in details.round.agents:
                found = bid_reasons(agent, Parameters.model_validate(record.parameters))
                before = store.step(run.id, turn - 1, agent.agent, "bid", Bid)
                assert found is not None
                assert agent.bid is not None
                assert before is not None
                assert found.change == pytest.approx((agent.bid.willingness or 0) - (before.willingness or 0))
                assert sum(part.change or 0.0 for part in found.parts) == pytest.approx(found.change)
