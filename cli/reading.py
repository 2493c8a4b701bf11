"""`inventory` and `behaviour`: what stored conversations say about the people in them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.environment import store_path
from cli.lines import in_words
from cli.opening import open_embedding_model, open_language_model
from cli.options import JsonOption, StoreOption
from cli.output import SCHEMA_VERSION, data, number, plain, print_json, progress, progress_line, waiting
from cli.rounds import read_characters
from state.annotation import Annotation
from state.cognition import Assessment, InformationNeed
from state.errors import UsageError
from state.parameters import Parameters
from state.records import RunRecord
from storage.store import SqliteStore
from tertulia.interrupting import interruptible, run_or_abandon

if TYPE_CHECKING:
    from lab.annotating import AnnotationRequest
    from metrics.behaviour import Line, PersonBehaviour
    from metrics.personality import DimensionFigures, PoleFigures, RatedSegment

_REHEARSAL = "rehearsal"
_PROTOTYPES = "prototypes"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(inventory)
    app.command()(behaviour)


# --- inventory ------------------------------------------------------------------------------------------------------


def inventory(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Ids of runs, or @last; several are pooled.")],
    model: Annotated[
        str | None, typer.Option(metavar="ID", help="Who answers; each run's own model if it is not given.")
    ] = None,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="Let a stand-in without weights answer.")] = False,
    paper: Annotated[bool, typer.Option("--paper", help="With the figures that ChatAgents published.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a model fill in the 44 items of the Big Five Inventory about everybody, per 30 turns (ChatAgents, Table I).

    What was answered once is kept with the run and not asked again.

    Example: tertulia inventory @last --model smollm2
    """
    from lab.inventory import inventory_requests, rated_segments
    from metrics.personality import TEAM_BUILDING, table_of_poles, tells_people_apart

    if rehearse and model is not None:
        raise UsageError(f"--rehearse and --model {model}: give one of them")
    with SqliteStore.open(store_path(store), create=False) as opened:
        records = list({record.run: record for record in map(opened.run, runs)}.values())
        readings, rated = [], []
        for record in records:
            reader = _REHEARSAL if rehearse else model or record.model
            answered = _ask(opened, record, reader, inventory_requests(opened.turns(record.run)))
            readings.append(answered)
            rated += rated_segments(record, answered, read_characters(opened, record.run))
    table = table_of_poles(rated)
    models = list(dict.fromkeys(one.model for answered in readings for one in answered))
    rehearsed = _REHEARSAL in models or any(record.rehearsed for record in records)
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "runs": [record.run for record in records],
                "models": models,
                "rehearsed": rehearsed,
                "tells_people_apart": tells_people_apart(rated),
                "table": [one.model_dump() for one in table],
                **({"paper": [one.model_dump() for one in TEAM_BUILDING]} if paper else {}),
                "segments": [one.model_dump() | {"scores": one.scores} for one in rated],
                "cost": [_cost_json(record, answered) for record, answered in zip(records, readings, strict=True)],
            }
        )
        return
    console = data()
    _print_heading(console, records, f"answered by {', '.join(models) or 'nobody'}", rehearsed)
    if not rated:
        console.print(plain("nobody has spoken yet", "dim"))
        return
    if any(one.poles for one in rated):
        _print_table(console, table, TEAM_BUILDING if paper else ())
    _print_people(console, rated, len(records) > 1)
    if not tells_people_apart(rated):
        console.print(
            plain("everybody has the same ratings: this model can't tell them apart, take another one", "yellow")
        )


def _cost_json(record: RunRecord, readings: Sequence[Annotation]) -> dict[str, Any]:
    return {
        "run": record.run,
        "calls": len(readings),
        "prompt_tokens": sum(one.prompt_tokens for one in readings),
        "reply_tokens": sum(one.reply_tokens for one in readings),
        "seconds": sum(one.seconds for one in readings),
    }


def _print_table(console: Console, table: Sequence["DimensionFigures"], paper: Sequence["DimensionFigures"]) -> None:
    grid = Table(box=None, pad_edge=False)
    for heading in ("dimension", "pole", "mean [95 % CI]", "people", "ratings", "p", "p over\npeople"):
        grid.add_column(heading, justify="left" if heading in ("dimension", "pole") else "right")
    theirs = {one.dimension: one for one in paper}
    for one in table:
        beside = theirs.get(one.dimension)
        for first, pole in ((True, one.high), (False, one.low)):
            p = (_p(one.p), _p(one.p_people)) if first else ("", "")
            grid.add_row(
                one.dimension if first else "", pole.pole, _interval(pole), str(pole.people), str(pole.ratings), *p
            )
            if beside:
                published = beside.high if first else beside.low
                grid.add_row("", "  paper", _interval(published), "", "", "<.001" if first else "", "", style="dim")
    console.print(grid)
    console.print()
    notes = ["ratings: one per person and segment of 30 turns; p: Welch's test over them, and over people's means"]
    if paper:
        notes.append("the paper's figures are of five runs of team_building with GPT-4o")
    for note in notes:
        console.print(plain(note, "dim"))
    console.print()


def _print_people(console: Console, rated: Sequence["RatedSegment"], several: bool) -> None:
    from state.meeting import BIG_FIVE

    grid = Table(box=None, pad_edge=False)
    for heading in (*(["run"] if several else []), "", "turns"):
        grid.add_column(heading)
    for dimension in BIG_FIVE:
        grid.add_column(dimension, justify="right")
    for one in sorted(rated, key=lambda one: (one.run, one.agent, one.first)):
        where = [Text(one.run)] if several else []
        cells = []
        for dimension, poles in BIG_FIVE.items():
            given = next((pole for pole in poles if pole in one.poles), None)
            mark = "" if given is None else " +" if given == poles[0] else " −"
            cells.append(f"{one.scores[dimension]:.2f}{mark}")
        grid.add_row(*where, plain(one.agent, "bold"), f"{one.first}–{one.last}", *cells)
    console.print(grid)
    if any(one.poles for one in rated):
        console.print(
            plain("+ and −: the pole that was given, the one that scores high or the one that scores low", "dim")
        )


def _interval(pole: "PoleFigures") -> str:
    if pole.ci_low is None or pole.ci_high is None:
        return number(pole.mean, 2)
    return f"{number(pole.mean, 2)} [{pole.ci_low:.2f}, {pole.ci_high:.2f}]"


def _p(value: float | None) -> str:
    return "–" if value is None else "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


# --- behaviour ------------------------------------------------------------------------------------------------------


def behaviour(
    run: Annotated[str, typer.Argument(help="The id of a run, or @last.")],
    labelled_by: Annotated[
        str, typer.Option(metavar="LABELLER", help="prototypes (sentences typical of each act), or a model.")
    ] = _PROTOTYPES,
    embedder: Annotated[
        str, typer.Option(help="What lines are compared with: minilm (embedded), a folder, or a Hugging Face id.")
    ] = "minilm",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell who leads, mediates, proposes and gets things done, with the lines that show it (ChatAgents, Fig. 5).

    Example: tertulia behaviour @last --labelled-by prototypes
    """
    from lab.speech_acts import acts_by_model, speech_act_requests
    from metrics.behaviour import acted
    from metrics.behaviour import behaviour as behaviour_of
    from metrics.speech_acts import acts_by_prototypes

    with SqliteStore.open(store_path(store), create=False) as opened:
        record = opened.run(run)
        people = opened.start(record.run).names
        turns = opened.turns(record.run)
        spoken = [turn for turn in turns if turn.speaker is not None]
        acts: Sequence[Sequence[str]] = []
        if spoken and labelled_by != _PROTOTYPES:
            acts = acts_by_model(turns, _ask(opened, record, labelled_by, speech_act_requests(turns)))
        vectors: Sequence[Sequence[float]] = []
        if spoken:
            compared = open_embedding_model(embedder)
            with waiting(f"comparing {len(spoken)} lines"):
                texts = [turn.text for turn in spoken]
                vectors = compared.embed(texts)
                acts = acts or [tuple(one) for one in acts_by_prototypes(texts, compared)]
        lines = [acted(turn, one) for turn, one in zip(spoken, acts, strict=True)]
        found = behaviour_of(
            people,
            lines,
            vectors,
            read_characters(opened, record.run),
            opened.steps(record.run, "assess", Assessment),
            opened.steps(record.run, "choose_mechanisms", InformationNeed),
        )
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "run": record.run,
                "rehearsed": record.rehearsed,
                "labelled_by": labelled_by,
                "embedder": embedder,
                "agents": [_person_json(one) for one in found],
                "turns": [line.model_dump() for line in lines],
            }
        )
        return
    console = data()
    told = f"labelled by {labelled_by}, compared with {embedder}"
    _print_heading(console, [record], told, record.rehearsed or labelled_by == _REHEARSAL)
    _print_acts(console, found)
    _print_roles(console, found)
    for one in found:
        _print_evidence(console, one)


def _person_json(one: "PersonBehaviour") -> dict[str, Any]:
    document = one.model_dump()
    for told, steering in zip(document["steering"], one.steering, strict=True):
        told["followed"] = steering.followed
    for told, mediation in zip(document["mediation"], one.mediation, strict=True):
        told["settled"] = mediation.settled
    return document


def _print_acts(console: Console, found: Sequence["PersonBehaviour"]) -> None:
    from metrics.speech_acts import ACTS

    grid = Table(box=None, pad_edge=False)
    grid.add_column("")
    for heading in ("utterances", *map(in_words, ACTS)):
        grid.add_column(heading.replace(" ", "\n"), justify="right")
    for one in found:
        grid.add_row(plain(one.agent, "bold"), str(one.utterances), *(str(one.acts[act]) for act in ACTS))
    console.print(grid)
    console.print()


def _print_roles(console: Console, found: Sequence["PersonBehaviour"]) -> None:
    grid = Table(box=None, pad_edge=False)
    grid.add_column("")
    for heading in ("steering\nfollowed", "leadership", "mediation\nsettled", "proposals\ntaken up", "goals met"):
        grid.add_column(heading, justify="right")
    for one in found:
        settled = sum(mediation.settled for mediation in one.mediation)
        taken_up = sum(bool(proposal.agreed_by) for proposal in one.proposals)
        grid.add_row(
            plain(one.agent, "bold"),
            f"{one.followed} of {len(one.steering)}",
            _percent(one.leadership),
            f"{settled} of {len(one.mediation)}",
            f"{taken_up} of {len(one.proposals)}",
            _percent(one.goals_met),
        )
    console.print(grid)
    console.print(plain("leadership: share of all steering that was followed", "dim"))
    console.print()


def _print_evidence(console: Console, one: "PersonBehaviour") -> None:
    if not (one.steering or one.mediation or one.proposals or one.plan):
        return
    console.print(plain(one.agent, "bold"))
    for steering in one.steering:
        thinking = f" ({', '.join(map(in_words, steering.mechanisms))})" if steering.mechanisms else ""
        outcome = "followed" if steering.followed else "not followed"
        _print_line(console, f"steers, {outcome}{thinking}", steering, [("stays with it", steering.followed_by)])
    for mediation in one.mediation:
        beside = [
            ("before it, objects", mediation.objections),
            ("agrees", mediation.agreed_by),
            ("objects", mediation.objected_by),
        ]
        _print_line(console, f"mediates, {'settled' if mediation.settled else 'not settled'}", mediation, beside)
    for proposal in one.proposals:
        beside = [("agrees", proposal.agreed_by), ("objects", proposal.objected_by)]
        _print_line(console, f"proposes, novelty {proposal.novelty:.2f}", proposal, beside)
    for step in one.plan or ():
        done = "open" if step.done_in_round is None else f"done in round {step.done_in_round}"
        console.print("  ", plain(f"wants ({step.share:.0%}), {done}:", "dim"), " ", plain(step.text), sep="")
        if step.line:
            _print_evidence_line(console, "had heard", step.line)
    console.print()


def _print_line(console: Console, what: str, line: "Line", beside: Sequence[tuple[str, Sequence["Line"]]]) -> None:
    console.print("  ", plain(f"{what}:", "dim"), " ", plain(f"turn {line.turn} · {line.text}"), sep="")
    for how, lines in beside:
        for other in lines:
            _print_evidence_line(console, how, other)


def _print_evidence_line(console: Console, how: str, line: "Line") -> None:
    console.print(
        "    ", plain(f"{how}:", "dim"), " ", plain(f"turn {line.turn} · {line.speaker}: {line.text}"), sep=""
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


# --- both -----------------------------------------------------------------------------------------------------------


def _ask(
    store: SqliteStore, record: RunRecord, model: str, requests: Sequence["AnnotationRequest"]
) -> list[Annotation]:
    """Return the answers of a model about a run; the model is loaded only where some are missing."""
    from lab.annotating import answers_to

    with progress_line() as (show, _), interruptible():
        try:
            return run_or_abandon(
                answers_to(
                    requests,
                    store,
                    record,
                    model,
                    lambda: open_language_model(model, Parameters.model_validate(record.parameters)),
                    show,
                )
            )
        except KeyboardInterrupt:
            progress().print("interrupted; what was answered is kept, give the command again to go on")
            raise typer.Exit(130) from None


def _print_heading(console: Console, records: Sequence[RunRecord], told: str, rehearsed: bool) -> None:
    names = ", ".join(f"{record.run} ({record.scenario}, {record.turns} turns)" for record in records)
    console.print(plain(f"{names}, {told}", "bold"))
    if rehearsed:
        console.print(plain("rehearsed: the figures mean nothing", "dim"))
    console.print()
