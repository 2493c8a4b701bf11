"""Participation in a run as in ChatAgents' Table II, with the published figures."""

from collections.abc import Sequence

from tertulia.metrics.participation import Latency, Participation, ParticipationCount, Person
from tertulia.metrics.published import TEAM_BUILDING
from tertulia.nodes.meeting.willingness import why_willing
from tertulia.state.album import Population
from tertulia.state.cognition import Bid, Character, InformationNeed, WillingnessRatings
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import NotFoundError, UsageError
from tertulia.state.meeting import Attendee, Meeting, Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord, Turn, order_of
from tertulia.state.store import Store
from tertulia.views.reading.rounds import read_characters
from tertulia.views.reading.shared_turns import by_stretch


def read_participation(store: Store, run: RunRecord, start: Start, first: int = 1) -> Participation:
    """Return how everybody took part in a run from a turn on, or raise `UsageError` for an album chat."""
    if isinstance(start, Population):
        raise UsageError(
            f"run {run.run} is an album chat, in which nobody races for the floor; `tertulia stats {run.run}` counts "
            "its exchanges, and Run.exchanges has them"
        )
    count = empty_count(start)
    add_turns(store, run, start, count, store.turns(run.run, first))
    return participation_so_far(store, run, start, count)


def empty_count(start: Start) -> ParticipationCount:
    """Return the counts of a run without turns."""
    is_meeting = isinstance(start, Meeting)
    return ParticipationCount(start.mechanisms if isinstance(start, Meeting) else (), is_meeting, is_meeting)


def add_turns(store: Store, run: RunRecord, start: Start, count: ParticipationCount, turns: Sequence[Turn]) -> None:
    """Add the next turns of a run to its counts, with the cognition of their rounds, each with its own settings."""
    for stretch, there in by_stretch(store, run, turns):
        of_maker = start if stretch.maker == run.run else store.start(stretch.maker)
        _add_stretch(store, stretch.run, of_maker, count, there)


def _add_stretch(store: Store, run: RunRecord, start: Start, count: ParticipationCount, turns: Sequence[Turn]) -> None:
    """Add turns that were made with the same settings."""
    parameters = Parameters.model_validate(run.parameters)
    if not isinstance(start, Meeting):
        count.add(turns, {}, {}, {}, {}, parameters.speaking_rate_wpm, parameters.silence_s)
        return
    between = turns[0].round, turns[-1].round
    bids = store.steps(run.run, "bid", Bid, *between)
    found = {key: why_willing(bid, start.participant(key[1]).weights, parameters) for key, bid in bids.items()}
    count.add(
        turns,
        bids,
        needs=store.steps(run.run, "choose_mechanisms", InformationNeed, *between),
        ratings=store.steps(run.run, "decide", WillingnessRatings, *between),
        reasons={key: reason for key, reason in found.items() if reason is not None},
        speaking_rate_wpm=parameters.speaking_rate_wpm,
        silence_s=parameters.silence_s,
    )


def participation_so_far(store: Store, run: RunRecord, start: Start, count: ParticipationCount) -> Participation:
    """Return the figures of a run from its counts."""
    people = [Person(agent=name) for name in start.names]
    if isinstance(start, Meeting):
        characters, parameters = read_characters(store, run.run), Parameters.model_validate(run.parameters)
        people = [
            _person(attendee, characters.get(attendee.persona.name), parameters) for attendee in start.participants
        ]
    return count.figures(people)


def _person(attendee: Attendee, character: Character | None, parameters: Parameters) -> Person:
    from tertulia.nodes.meeting.latency import base_latency

    scale_s, spread_s = base_latency(attendee.latency, parameters)
    latency_class = attendee.latency if isinstance(attendee.latency, str) else None
    return Person(
        agent=attendee.persona.name,
        latency=Latency(latency_class=latency_class, scale_s=scale_s, spread_s=spread_s),
        traits=character.big_five if character else attendee.big_five or None,
        setting=attendee.setting,
    )


def published_participation(run: RunRecord, start: Start) -> Participation:
    """Return the paper's figures of the team-building meeting.

    Raises:
        NotFoundError: None of the paper's people takes part in the run.
    """
    published = [agent.agent for agent in TEAM_BUILDING.agents]
    if isinstance(start, Population) or not set(published) & set(start.names):
        raise NotFoundError(
            f"nothing is published about the people of run {run.run}: --paper knows {', '.join(published)} "
            "(tertulia run team_building)"
        )
    return TEAM_BUILDING


def participation_document(run: RunRecord, figures: Participation, published: Participation | None = None) -> Document:
    """Return participation as JSON, with the published figures if they are given."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "run": run.run,
        "scenario": run.scenario,
        "rehearsed": run.rehearsed,
        "order": order_of(run),
        **_figures_document(figures),
    }
    return document | ({"paper": _figures_document(published)} if published else {})


def _figures_document(figures: Participation) -> Document:
    document = figures.model_dump(mode="json")
    for agent in document["agents"]:
        if latency := agent["latency"]:
            agent["latency"] = {"class": latency.pop("latency_class"), **latency}
    return document
