"""`runs` and `show`: look into what is stored; no model is asked."""

import math
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.environment import store_path
from cli.options import JsonOption, StoreOption
from cli.output import SCHEMA_VERSION, clean, data, grouped, number, plain, print_json
from state.errors import NotFoundError, UsageError
from state.parameters import Parameters
from state.records import Candidate, Prompt, RunRecord, Turn, TurnRecord
from storage.store import SqliteStore

_BAR = 16


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(runs)
    app.command()(show)


def runs(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List all runs, newest first.

    Example: polylogue runs --json
    """
    path = store_path(store)
    known: list[RunRecord] = []
    if path.exists():
        with SqliteStore.open(path, create=False) as opened:
            known = opened.runs()
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "runs": [_run_row(run) for run in known]})
        return
    if not known:
        data().print(plain(f"no runs in {path}; begin with: polylogue run tidewell"))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("run", "status", "scenario", "λ", "seed", "turns", "model", "from"):
        table.add_column(heading, justify="right" if heading in ("λ", "seed", "turns") else "left")
    for run in known:
        table.add_row(
            run.run,
            run.status,
            plain(run.scenario),
            f"{run.parameters.get('removal_factor', 0):g}",
            str(run.seed),
            str(run.turns),
            plain(run.model),
            f"{run.parent[0]} turn {run.parent[1]}" if run.parent else "",
        )
    data().print(table)


def show(
    run: Annotated[str, typer.Argument(help="The id of a run, or @last.")],
    turn: Annotated[int | None, typer.Option(help="Look into this turn: what was attended, removed, judged.")] = None,
    removal_factor: Annotated[
        float | None, typer.Option("--lambda", help="With --turn: what would be removed at this λ.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a conversation, or how one of its turns came about.

    Example: polylogue show @last --turn 3 --lambda 0.8
    """
    if removal_factor is not None and turn is None:
        raise UsageError("--lambda asks what would be removed in a turn; name it with --turn N")
    with SqliteStore.open(store_path(store), create=False) as opened:
        record = opened.run(run)
        if turn is None:
            _show_run(opened, record, as_json)
        else:
            _show_turn(opened, record, turn, removal_factor, as_json)


def _run_row(run: RunRecord) -> dict[str, Any]:
    return {
        "run": run.run,
        "status": run.status,
        "scenario": run.scenario,
        "model": run.model,
        "seed": run.seed,
        "turns": run.turns,
        "parent": _parent(run),
        "removal_factor": run.parameters.get("removal_factor"),
        "rehearsed": run.rehearsed,
        "created": run.created.isoformat(),
        "error": run.error,
    }


def _parent(run: RunRecord) -> dict[str, Any] | None:
    return {"run": run.parent[0], "turn": run.parent[1]} if run.parent else None


def _show_run(store: SqliteStore, run: RunRecord, as_json: bool) -> None:
    turns, case = store.turns(run.run), store.case(run.run)
    if as_json:
        print_json(
            {
                "schema_version": SCHEMA_VERSION,
                "run": run.run,
                "status": run.status,
                "scenario": run.scenario,
                "model": run.model,
                "embedder": run.embedder,
                "rehearsed": run.rehearsed,
                "seed": run.seed,
                "parameters": run.parameters,
                "parent": _parent(run),
                "error": run.error,
                "left_out": list(case.left_out),
                "turns": [turn.model_dump(mode="json") for turn in turns],
            }
        )
        return
    console = data()
    factor = run.parameters.get("removal_factor")
    rehearsed = " · rehearsed" if run.rehearsed else ""
    place = f" · {case.place}" if case.place else ""
    console.print(plain(f"{run.run} · {run.scenario} · {case.time:%Y-%m-%d %H:%M}{place}", "bold"))
    console.print(plain(f"{run.status} · λ = {factor} · {run.model} · seed {run.seed}{rehearsed}", "dim"))
    if run.error:
        console.print(plain(f"stopped by: {run.error}", "red"))
    for note in grouped(case.left_out, (case.initiator.persona.name, case.partner.persona.name)):
        console.print(plain(f"left out: {note}", "dim"))
    console.print()
    for turn in turns:
        _print_line(console, turn)


def _print_line(console: Console, turn: Turn) -> None:
    minutes, seconds = divmod(int(turn.sim_time_s), 60)
    console.print(
        Text.assemble(
            (f"{turn.turn:>3}  {minutes:02d}:{seconds:02d}  ", "dim"),
            plain(f"{turn.speaker}:" if turn.speaker else "(silence)", "bold"),
            " ",
            plain(turn.text),
            ("  ∎", "dim") if turn.ended else "",
        )
    )


def _show_turn(store: SqliteStore, run: RunRecord, number_: int, what_if: float | None, as_json: bool) -> None:
    record = store.turn_record(run.run, number_)
    candidates = store.candidates(run.run, number_)
    prompt = store.prompt(record.prompt) if record.prompt else None
    removed = set(record.removed)
    if what_if is not None:
        removed = set(_removed_at(run, record, prompt, what_if))
    if as_json:
        print_json(_turn_json(run, record, prompt, candidates, removed, what_if))
        return
    console = data()
    _print_line(console, record.turn)
    console.print()
    if prompt is not None:
        _print_units(console, prompt, record.scores, removed)
    _print_attention(console, run, record, prompt, removed, what_if)
    _print_candidates(console, record, candidates, run)


def _removed_at(run: RunRecord, record: TurnRecord, prompt: Prompt | None, removal_factor: float) -> tuple[str, ...]:
    from nodes.prune import prune_units
    from prompts.remove import removed_with_blocks

    parameters = Parameters.model_validate(run.parameters).with_settings({"removal_factor": removal_factor})
    if prompt is None or record.scores is None:
        raise NotFoundError(
            f"turn {record.turn.turn} of run {run.run} has no recorded scores: λ was 0, where nothing is scored; "
            "run it with --set record_scores=true to record them"
        )
    chosen = prune_units(prompt.units, record.scores, parameters.removal_factor, parameters.removal_order)
    return removed_with_blocks(prompt, chosen)


def _turn_json(
    run: RunRecord,
    record: TurnRecord,
    prompt: Prompt | None,
    candidates: list[Candidate],
    removed: set[str],
    what_if: float | None,
) -> dict[str, Any]:
    scores = record.scores or {}
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "run": run.run,
        **record.turn.model_dump(mode="json"),
        "units": [
            {
                "id": unit.id,
                "block": unit.block,
                "kind": unit.kind,
                "text": unit.text,
                "removable": unit.removable,
                "score": scores.get(unit.id),
                "removed": unit.id in removed,
            }
            for unit in (prompt.units if prompt else ())
        ],
        "candidates": [
            {
                "text": candidate.text,
                "inconsistency": candidate.inconsistency,
                "inconsistency_runs": list(candidate.inconsistency_runs),
                "comment": candidate.comment,
                "chosen": candidate.attempt == record.chosen,
            }
            for candidate in candidates
        ],
        "rollbacks": record.rollbacks,
        "scored_by": record.scored_by,
        "judged_by": record.judged_by,
        "removal_factor": run.parameters.get("removal_factor"),
    }
    if what_if is not None:
        document["what_if"] = what_if
    return document


def _print_units(console: Console, prompt: Prompt, scores: Mapping[str, float] | None, removed: set[str]) -> None:
    """Print every unit with its weight as bar and number; a removed one is marked and struck.

    Bars grow with the root of the weight, so that small ones differ too; the longest is the heaviest that λ may
    remove. What can't be removed may be heavier (the first tokens of a prompt draw much), and fills its bar.
    """
    weights = scores or {}
    scale = max((weights[unit.id] for unit in prompt.units if unit.removable and unit.id in weights), default=0.0)
    scale = scale or max(weights.values(), default=0.0) or 1.0
    digits = max(3, 2 - math.floor(math.log10(scale)))
    column = max((len(number(weight, digits)) for weight in weights.values()), default=1)
    block = None
    for unit in prompt.units:
        if unit.block != block:
            block = unit.block
            console.print(plain(block.replace("_", " "), "bold cyan"))
        gone = unit.id in removed
        mark = "✗" if gone else " " if unit.removable else "·"
        line = Text.assemble((mark, "red"), " ")
        if scores is not None:
            bar = _bar(math.sqrt(weights.get(unit.id, 0.0) / scale))
            figure = number(weights.get(unit.id), digits)
            line.append(f"{bar:<{_BAR}} {figure:>{column}}  ", "" if unit.removable else "dim")
        line.append(clean(unit.text), "strike dim" if gone else "" if unit.kind == "item" else "italic")
        line.truncate(console.width, overflow="ellipsis")
        console.print(line)
    console.print(plain("✗ removed, · never removed by λ; bars grow with the root of the weight", "dim"))


def _bar(share: float) -> str:
    eighths = round(min(1.0, share) * _BAR * 8)
    return "█" * (eighths // 8) + ("▏▎▍▌▋▊▉"[eighths % 8 - 1] if eighths % 8 else "")


def _print_attention(
    console: Console,
    run: RunRecord,
    record: TurnRecord,
    prompt: Prompt | None,
    removed: set[str],
    what_if: float | None,
) -> None:
    factor = run.parameters.get("removal_factor") if what_if is None else what_if
    if prompt is None or record.scores is None:
        console.print(
            plain(f"λ = {factor}: not scored, nothing removed (--set record_scores=true records scores)", "dim")
        )
        return
    removable = [unit for unit in prompt.units if unit.removable]
    total = sum(record.scores[unit.id] for unit in removable)
    gone = [unit for unit in removable if unit.id in removed]
    share = sum(record.scores[unit.id] for unit in gone) / total if total else 0.0
    would = "would be" if what_if is not None else "were"
    console.print(
        plain(
            f"✗ {len(gone)} of {len(removable)} removable units {would} removed at λ = {factor}: "
            f"{share:.1%} of their attention (scored by {record.scored_by})",
            "bold",
        )
    )


def _print_candidates(console: Console, record: TurnRecord, candidates: list[Candidate], run: RunRecord) -> None:
    threshold = run.parameters.get("inconsistency_threshold")
    judged = f"judged: {record.judged_by}, conflict above θ = {threshold}" if record.judged_by else "not judged"
    console.print()
    console.print(plain(f"{judged}, {record.rollbacks} rolled back", "bold"))
    for candidate in candidates:
        chosen = candidate.attempt == record.chosen
        runs = ", ".join(number(value, 2) for value in candidate.inconsistency_runs)
        figure = f"{number(candidate.inconsistency)}{f' ({runs})' if len(candidate.inconsistency_runs) > 1 else ''}"
        mark = ("→ said  ", "green") if chosen else "        "
        console.print(Text.assemble(mark, f"{figure:>6}  ", plain(candidate.text, "" if chosen else "dim")))
        if candidate.comment:
            console.print(Text.assemble(" " * 16, plain(candidate.comment, "dim italic")))
