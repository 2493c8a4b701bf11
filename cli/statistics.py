"""`stats`: who took part how much, as in ChatAgents' Table II."""

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.environment import store_path
from cli.lines import in_words, order_of
from cli.options import JsonOption, StoreOption
from cli.output import SCHEMA_VERSION, data, number, plain, print_json
from cli.rounds import read_characters
from metrics.participation import AgentFigures, Latency, Participation, Person, participation
from metrics.published import TEAM_BUILDING
from nodes.latency import base_latency
from state.cognition import Bid, Character, InformationNeed
from state.errors import NotFoundError
from state.meeting import Attendee, Meeting, Start
from state.parameters import Parameters
from state.records import RunRecord
from storage.store import SqliteStore


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(stats)


def stats(
    run: Annotated[str, typer.Argument(help="The id of a run, or @last.")],
    paper: Annotated[
        bool, typer.Option("--paper", help="With the figures that ChatAgents published of the team-building meeting.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count who spoke, who wanted to, and what they thought with (ChatAgents, Table II).

    Example: tertulia stats @last --json
    """
    with SqliteStore.open(store_path(store), create=False) as opened:
        record = opened.run(run)
        start = opened.start(record.run)
        figures = _figures(opened, record, start)
    published = _published(record, start) if paper else None
    if as_json:
        document = {
            "schema_version": SCHEMA_VERSION,
            "run": record.run,
            "scenario": record.scenario,
            "order": order_of(record),
            **_json(figures),
        }
        print_json(document | ({"paper": _json(published)} if published else {}))
        return
    console = data()
    _print_people(console, figures)
    if isinstance(start, Meeting):
        _print_cognition(console, figures, published)
    _print_floor(console, figures, published)
    _print_whole(console, "the run", figures)
    if published:
        _print_whole(console, "the paper", published)
        console.print(plain("the paper's Table II (agents) and text (the line above) are of two different runs", "dim"))


def _figures(store: SqliteStore, run: RunRecord, start: Start) -> Participation:
    parameters = Parameters.model_validate(run.parameters)
    turns = store.turns(run.run)
    rate, silence_s = parameters.speaking_rate_wpm, parameters.silence_s
    if not isinstance(start, Meeting):
        return participation([Person(agent=name) for name in start.names], turns, rate, silence_s)
    characters = read_characters(store, run.run)
    return participation(
        [_person(one, characters.get(one.persona.name), parameters) for one in start.participants],
        turns,
        rate,
        silence_s,
        mechanisms=start.mechanisms,
        bids=store.steps(run.run, "bid", Bid),
        needs=store.steps(run.run, "choose_mechanisms", InformationNeed),
    )


def _person(one: Attendee, character: Character | None, parameters: Parameters) -> Person:
    scale_s, spread_s = base_latency(one.latency, parameters)
    given = one.latency if isinstance(one.latency, str) else None
    return Person(
        agent=one.persona.name,
        latency=Latency(latency_class=given, scale_s=scale_s, spread_s=spread_s),
        traits=character.big_five if character else one.big_five or None,
        setting=one.setting,
    )


def _published(run: RunRecord, start: Start) -> Participation:
    """Return the paper's figures.

    Raises:
        NotFoundError: Nobody of the paper's people takes part.
    """
    theirs = [one.agent for one in TEAM_BUILDING.agents]
    if not set(theirs) & set(start.names):
        raise NotFoundError(
            f"nothing is published about the people of run {run.run}: --paper knows {', '.join(theirs)} "
            "(tertulia run team_building)"
        )
    return TEAM_BUILDING


def _json(figures: Participation) -> dict[str, Any]:
    document = figures.model_dump(mode="json")
    for one in document["agents"]:
        if latency := one["latency"]:
            one["latency"] = {"class": latency.pop("latency_class"), **latency}
    return document


# --- tables ---------------------------------------------------------------------------------------------------------


def _print_people(console: Console, figures: Participation) -> None:
    table = _table("", "latency", "traits", "setting")
    for one in figures.agents:
        if one.latency is not None:
            latency = f"[{one.latency.scale_s:.3g}, {one.latency.spread_s:.3g}] s"
            latency += f" {one.latency.latency_class}" if one.latency.latency_class else ""
            table.add_row(
                plain(one.agent, "bold"),
                Text(latency),
                plain(", ".join(one.traits or ()) or "–"),
                plain(one.setting or "–"),
            )
    if table.row_count:
        console.print(table)
        console.print()


def _print_cognition(console: Console, figures: Participation, published: Participation | None) -> None:
    mechanisms = list(dict.fromkeys(name for one in figures.agents for name in one.mechanisms or {}))
    headings = ["", "spoken", "wanting\nto speak", "silent"]
    headings += [in_words(name).replace(" ", "\n", 1) for name in mechanisms]
    table = _table(*headings, "wanting\nafter\nsilence", "speaking\nafter\nsilence", figures=True)
    for label, one, style in _rows(figures, published):
        on_off = [(one.mechanisms or {}).get(name) for name in mechanisms]
        table.add_row(
            label,
            *(_count(value) for value in (one.spoken, one.wanting_to_speak, one.silent)),
            *("–" if choice is None else f"{choice.on}-{choice.off}" for choice in on_off),
            *(_count(value) for value in (one.wanting_after_silence, one.speaking_after_silence)),
            style=style,
        )
    console.print(table)
    console.print(plain("silent: decisions without wanting to speak; mechanisms: rounds on-off", "dim"))
    console.print()


def _print_floor(console: Console, figures: Participation, published: Participation | None) -> None:
    table = _table("", "spoken", "share of\nutterances", "words", "speaking\ntime", "share of\ntime", figures=True)
    for label, one, style in _rows(figures, published):
        time = None if one.speaking_time_s is None else round(one.speaking_time_s)
        table.add_row(
            label,
            str(one.spoken),
            _percent(one.share_of_utterances),
            _count(one.words),
            "–" if time is None else f"{time // 60}:{time % 60:02d}",
            _percent(one.share_of_speaking_time),
            style=style,
        )
    console.print(table)
    console.print()


def _print_whole(console: Console, what: str, figures: Participation) -> None:
    minutes = number(figures.sim_minutes, 2)
    console.print(
        plain(
            f"{what}: {figures.turns} turns in {minutes} simulated minutes; silences: {figures.silences}, "
            f"{figures.silence_s:g} s together; evenness: {number(figures.evenness, 2)}"
        )
    )


def _rows(figures: Participation, published: Participation | None) -> list[tuple[Text, AgentFigures, str]]:
    """Return who stands in a table, each with label and style; the paper's figures below those of the run."""
    theirs = {one.agent: one for one in published.agents} if published else {}
    rows: list[tuple[Text, AgentFigures, str]] = []
    for one in figures.agents:
        rows.append((plain(one.agent, "bold"), one, ""))
        if one.agent in theirs:
            rows.append((Text("  paper"), theirs[one.agent], "dim"))
    return rows


def _table(*headings: str, figures: bool = False) -> Table:
    table = Table(box=None, pad_edge=False)
    for at, heading in enumerate(headings):
        table.add_column(heading, justify="right" if figures and at else "left", overflow="fold")
    return table


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
