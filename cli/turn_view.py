"""How a turn came about: the weight of every unit, what was removed, and what the judge said of each candidate."""

import math
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from cli.lines import retained
from cli.output import SCHEMA_VERSION, bar, clean, number, plain
from state.errors import NotFoundError
from state.parameters import Parameters
from state.records import Candidate, Prompt, RunRecord, TurnRecord

_BAR = 16


def removed_at(run: RunRecord, record: TurnRecord, prompt: Prompt | None, removal_factor: float) -> tuple[str, ...]:
    """Return what would be removed in a turn at another λ, on its recorded scores.

    Raises:
        UsageError: λ is out of its range.
        NotFoundError: The turn has no recorded scores.
    """
    from nodes.prune import prune_units
    from prompts.remove import removed_with_blocks

    parameters = Parameters.model_validate(run.parameters).with_settings({"removal_factor": removal_factor})
    where = f"turn {record.turn.turn} of run {run.run}"
    if record.turn.speaker is None:
        raise NotFoundError(f"{where} is a silence: there was no prompt; look into a turn in which somebody speaks")
    if prompt is None:
        raise NotFoundError(f"{where} was written by hand: there was no prompt; look into a turn that a model has made")
    if record.scores is None:
        raise NotFoundError(
            f"{where} has no recorded scores: λ was 0, where nothing is scored; "
            "run it with --set record_scores=true to record them"
        )
    chosen = prune_units(prompt.units, record.scores, parameters.removal_factor, parameters.removal_order)
    return removed_with_blocks(prompt, chosen)


def turn_json(
    run: RunRecord,
    record: TurnRecord,
    prompt: Prompt | None,
    candidates: list[Candidate],
    removed: set[str],
    what_if: float | None,
) -> dict[str, Any]:
    """Return a turn and how it came about; a silence has neither units nor candidates."""
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
                "attempt": candidate.attempt,
                "origin": candidate.origin,
                "text": candidate.text,
                "as_written": as_written(candidate, prompt),
                "inconsistency": candidate.inconsistency,
                "inconsistency_runs": list(candidate.inconsistency_runs),
                "comment": candidate.comment,
                "rewritable": candidate.rewritable,
                "chosen": candidate.attempt == record.chosen,
            }
            for candidate in candidates
        ],
        "rollbacks": record.rollbacks,
        "rewritings": _rewritings(candidates),
        "scored_by": record.scored_by,
        "judged_by": record.judged_by,
        "removal_factor": run.parameters.get("removal_factor"),
    }
    if what_if is not None:
        document["what_if"] = what_if
    return document


def print_making(
    console: Console,
    run: RunRecord,
    record: TurnRecord,
    prompt: Prompt | None,
    candidates: list[Candidate],
    removed: set[str],
    what_if: float | None,
) -> None:
    """Print how an utterance came about."""
    if prompt is not None:
        _print_variations(console, run, record, prompt)
        _print_units(console, prompt, record.scores, removed)
    _print_attention(console, run, record, prompt, removed, what_if)
    _print_candidates(console, record, prompt, candidates, run)


def as_written(candidate: Candidate, prompt: Prompt | None) -> str | None:
    """Return what was written in the names of the prompt, where it is said in people's own; `None` where it is not."""
    written = candidate.reply.fields.get(prompt.speaker) if prompt is not None else None
    return None if written is None or " ".join(str(written).split()) == candidate.text else str(written)


def _rewritings(candidates: list[Candidate]) -> int:
    return sum(candidate.origin == "rewritten" for candidate in candidates)


def _print_variations(console: Console, run: RunRecord, record: TurnRecord, prompt: Prompt) -> None:
    """Print how the prompt was varied before it was scored, and what was asked for, where the run wanted that."""
    parameters = Parameters.model_validate(run.parameters)
    told = [f"blocks left out: {parameters.removed_blocks}"] if parameters.removed_blocks else []
    told += [f"lengths: {parameters.block_lengths}"] if parameters.block_lengths else []
    if parameters.names != "own":
        back = "put back in what is said" if parameters.names_put_back else "not put back"
        told.append(f"names: {parameters.names}, {record.turn.speaker} is {prompt.speaker}, {back}")
    if parameters.generation == "sequential":
        told.append(f"{parameters.sequential_candidates} candidates in one reply")
    if told:
        console.print(plain("varied: " + "; ".join(told), "bold"))


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
            drawn = bar(math.sqrt(weights.get(unit.id, 0.0) / scale), _BAR)
            figure = number(weights.get(unit.id), digits)
            line.append(f"{drawn:<{_BAR}} {figure:>{column}}  ", "" if unit.removable else "dim")
        line.append(clean(unit.text), "strike dim" if gone else "" if unit.kind == "item" else "italic")
        line.truncate(console.width, overflow="ellipsis")
        console.print(line)
    console.print(plain("✗ removed, · never removed by λ; bars grow with the root of the weight", "dim"))


def _print_attention(
    console: Console,
    run: RunRecord,
    record: TurnRecord,
    prompt: Prompt | None,
    removed: set[str],
    what_if: float | None,
) -> None:
    factor = run.parameters.get("removal_factor") if what_if is None else what_if
    if prompt is None:
        console.print(plain("written by hand: there was no prompt, and nobody judged it", "dim"))
        return
    if record.scores is None:
        console.print(
            plain(f"λ = {factor}: not scored, nothing removed (--set record_scores=true records scores)", "dim")
        )
        return
    removable = [unit for unit in prompt.units if unit.removable]
    total = sum(record.scores[unit.id] for unit in removable)
    gone = [unit for unit in removable if unit.id in removed]
    share = sum(record.scores[unit.id] for unit in gone) / total if total else 0.0
    would = "would be" if what_if is not None else "were"
    why = f"at λ = {factor}"
    if (kept := retained(run)) is not None:
        if what_if is not None:
            why = f"{why}, were {kept} not retained"
        elif len(gone) < len(removable):
            why = f"but {kept}"
        else:
            why = f"(this prompt has no {kept.rpartition(' of ')[2]} to retain one of)"
    console.print(
        plain(
            f"✗ {len(gone)} of {len(removable)} removable units {would} removed {why}: "
            f"{share:.1%} of their attention (scored by {record.scored_by})",
            "bold",
        )
    )


def _print_candidates(
    console: Console, record: TurnRecord, prompt: Prompt | None, candidates: list[Candidate], run: RunRecord
) -> None:
    if prompt is None:
        for candidate in candidates:
            console.print(Text.assemble(("→ said  ", "green"), plain(candidate.text)))
        return
    threshold = run.parameters.get("inconsistency_threshold")
    judged = f"judged: {record.judged_by}, conflict above θ = {threshold}" if record.judged_by else "not judged"
    console.print()
    rewritten = f", {_rewritings(candidates)} rewritten" if _rewritings(candidates) else ""
    way = ", revision=off" if record.judged_by and run.parameters.get("revision") == "off" else ""
    console.print(plain(f"{judged}, {record.rollbacks} rolled back{rewritten}{way}", "bold"))
    for candidate in candidates:
        chosen = candidate.attempt == record.chosen
        runs = ", ".join(number(value, 2) for value in candidate.inconsistency_runs)
        figure = f"{number(candidate.inconsistency)}{f' ({runs})' if len(candidate.inconsistency_runs) > 1 else ''}"
        mark = ("→ said  ", "green") if chosen else "        "
        line = Text.assemble(mark, f"{figure:>6}  ", plain(candidate.text, "" if chosen else "dim"))
        if candidate.origin == "rewritten":
            line.append("  (rewritten)", "dim")
        console.print(line)
        if (written := as_written(candidate, prompt)) is not None:
            console.print(Text.assemble(" " * 16, plain(f"as written: {written}", "dim")))
        if candidate.rewritable is not None:
            told = "suffices" if candidate.rewritable else "does not suffice"
            console.print(Text.assemble(" " * 16, (f"what was removed {told} to rewrite it", "dim")))
        if candidate.comment:
            console.print(Text.assemble(" " * 16, plain(candidate.comment, "dim italic")))
