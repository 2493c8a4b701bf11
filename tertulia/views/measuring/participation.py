"""Participation in a run as in ChatAgents' Table II, with the published figures."""

from tertulia.metrics.participation import Latency, Participation, Person, participation
from tertulia.metrics.published import TEAM_BUILDING
from tertulia.nodes.meeting.willingness import why_willing
from tertulia.state.album import Population
from tertulia.state.cognition import Bid, Character, InformationNeed, WillingnessRatings
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import NotFoundError, UsageError
from tertulia.state.meeting import Attendee, Meeting, Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord, order_of
from tertulia.state.store import Store
from tertulia.views.reading.rounds import read_characters


def read_participation(store: Store, run: RunRecord, start: Start, first: int = 1) -> Participation:
    """Return how everybody took part in a run from a turn on, or raise `UsageError` for an album chat."""
    parameters = Parameters.model_validate(run.parameters)
    turns = store.turns(run.run, first)
    rate, silence_s = parameters.speaking_rate_wpm, parameters.silence_s
    if isinstance(start, Population):
        raise UsageError(
            f"run {run.run} is an album chat, in which nobody races for the floor; `tertulia stats {run.run}` counts "
            "its exchanges, and Run.exchanges has them"
        )
    if not isinstance(start, Meeting):
        return participation([Person(agent=name) for name in start.names], turns, rate, silence_s)
    characters = read_characters(store, run.run)
    bids = store.steps(run.run, "bid", Bid)
    found = {key: why_willing(bid, start.participant(key[1]).weights, parameters) for key, bid in bids.items()}
    return participation(
        [_person(attendee, characters.get(attendee.persona.name), parameters) for attendee in start.participants],
        turns,
        rate,
        silence_s,
        mechanisms=start.mechanisms,
        bids=bids,
        reasons={key: reason for key, reason in found.items() if reason is not None},
        needs=store.steps(run.run, "choose_mechanisms", InformationNeed),
        ratings=store.steps(run.run, "decide", WillingnessRatings),
    )


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
