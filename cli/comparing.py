"""`diff`: two runs beside each other, from what they were made with to the last record of every turn."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli.environment import store_path
from cli.lines import clock, in_words, people_line, settings, silence
from cli.opening import open_embedding_model
from cli.options import JsonOption, StoreOption
from cli.output import SCHEMA_VERSION, clean, data, number, plain, print_json, waiting
from metrics.comparison import (
    Comparison,
    Difference,
    Document,
    TurnComparison,
    compare_runs,
    largest_score_difference,
    switched_on,
    word_differences,
)
from state.errors import NotFoundError
from state.meeting import Start
from state.parameters import Parameters
from state.records import RunRecord, Turn
from storage.store import SqliteStore

#: Characters of a text, and of any other value, that a table shows.
_SHOWN = 160
_SHOWN_OF_VALUES = 40

#: What an aspect of a turn is called where its own name does not say it.
_NAMES = {"mechanisms": "mechanisms chosen", "removed": "units removed", "calls": "model calls"}

_STYLES = {"A": "red", "B": "green"}
#: What encloses words that one of the two has alone, where there are no colours.
_MARKS = {"A": ("[-", "-]"), "B": ("{+", "+}")}


#: Aspects of a turn that have a line of their own; the others are named.
_TOLD = {"floor", "speaker", "removed", "scores", "judgement", "text", "clock", "ending", "willingness", "latency"}


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(diff)


def diff(
    a: Annotated[str, typer.Argument(help="The id of a run, or @last.")],
    b: Annotated[str, typer.Argument(help="The id of the run to compare it with.")],
    turn: Annotated[
        int | None, typer.Option(help="Compare this turn alone, to its last record; 0: the preparation.")
    ] = None,
    similarity: Annotated[
        bool, typer.Option("--similarity", help="Embed both conversations, and tell how similar they are.")
    ] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 4 if anything differs.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two runs: what they were made with, where they part, and every turn; ids and dates are disregarded.

    Example: tertulia diff k3f9 @last --exit-code
    """
    with SqliteStore.open(store_path(store), create=False) as opened:
        runs = (opened.run(a), opened.run(b))
        starts = (opened.start(runs[0].run), opened.start(runs[1].run))
        comparison = compare_runs(opened, *runs)
        if turn is not None:
            comparison = Comparison((), (_turn(comparison, runs, turn),))
        turns = (opened.turns(runs[0].run), opened.turns(runs[1].run))
    figures = _figures(turns, similarity) if turn is None else {}
    if as_json:
        print_json(_json(runs, comparison, figures))
    elif comparison.is_same:
        data().print(plain(_sameness(runs, comparison, turn)))
    else:
        _print_comparison(data(), runs, starts, comparison, figures, whole=turn is not None)
    if exit_code and not comparison.is_same:
        raise typer.Exit(4)


def _turn(comparison: Comparison, runs: tuple[RunRecord, RunRecord], number: int) -> TurnComparison:
    """Return a turn of the comparison.

    Raises:
        NotFoundError: Neither run has it.
    """
    for one in comparison.turns:
        if one.turn == number:
            return one
    last = comparison.turns[-1].turn
    which = f"they have turns 1 to {last}" if last else "they have no turns yet"
    raise NotFoundError(f"neither {runs[0].run} nor {runs[1].run} has a turn {number}; {which}")


def _figures(turns: Sequence[Sequence[Turn]], similarity: bool) -> dict[str, Any]:
    """Return how varied each conversation is, and on demand how similar the two are."""
    from metrics.diversity import dialogue_text, distinct_n, mean_pairwise_cosine, words_per_utterance

    dialogues = [[(turn.speaker, turn.text) for turn in one if turn.speaker is not None] for one in turns]
    figures: dict[str, Any] = {
        run: {f"dist{n}": distinct_n([one], n) for n in (1, 2, 3)} | {"len": words_per_utterance([one])}
        for run, one in zip("ab", dialogues, strict=True)
    }
    if similarity:
        embedder = open_embedding_model("minilm")
        texts = [dialogue_text(one) for one in dialogues]
        with waiting("embedding both conversations"):
            figures["sim"] = mean_pairwise_cosine(embedder.embed(texts)) if all(dialogues) else None
            figures["sim_untruncated"] = (
                mean_pairwise_cosine(embedder.embed_untruncated(texts)) if all(dialogues) else None
            )
    return figures


# --- JSON -----------------------------------------------------------------------------------------------------------


def _json(runs: tuple[RunRecord, RunRecord], comparison: Comparison, figures: dict[str, Any]) -> dict[str, Any]:
    parting = comparison.differing[0] if comparison.differing else None
    return {
        "schema_version": SCHEMA_VERSION,
        **{name: {"run": run.run, "turns": run.turns} for name, run in zip("ab", runs, strict=True)},
        "identical": comparison.is_same,
        "settings": [_difference_json(one) for one in comparison.settings],
        "first_divergence": {"turn": parting.turn, **_differs(parting)} if parting else None,
        "turns": [_turn_json(one) for one in comparison.differing],
        "diversity": figures or None,
    }


def _difference_json(difference: Difference) -> dict[str, Any]:
    return {"path": list(difference.path), "a": difference.a, "b": difference.b}


def _differs(turn: TurnComparison) -> dict[str, Any]:
    only_in = "b" if turn.a is None else "a" if turn.b is None else None
    return {"only_in": only_in, "differs": turn.aspects}


def _turn_json(turn: TurnComparison) -> dict[str, Any]:
    document = {"turn": turn.turn, **_differs(turn)}
    changes = [_difference_json(one) for one in turn.differences]
    if turn.turn == 0:
        return document | {"differences": changes}
    for name, one in (("a", turn.a), ("b", turn.b)):
        document[name] = one and {"speaker": one["speaker"], "text": one["text"], "sim_time_s": one["clock"]}
    if turn.a is not None and turn.b is not None:
        largest = largest_score_difference(turn.a, turn.b)
        document |= {
            "removed_only_in_a": _without(turn.a["removed"], turn.b["removed"]),
            "removed_only_in_b": _without(turn.b["removed"], turn.a["removed"]),
            "largest_score_difference": {"unit": largest.unit, "a": largest.a, "b": largest.b} if largest else None,
        }
    return document | {"differences": changes}


def _without(names: Iterable[str], others: Iterable[str]) -> list[str]:
    others = set(others)
    return [name for name in names if name not in others]


# --- in the terminal ------------------------------------------------------------------------------------------------


def _sameness(runs: tuple[RunRecord, RunRecord], comparison: Comparison, turn: int | None) -> str:
    a, b = (run.run for run in runs)
    if a == b:
        return f"A and B are the same run, {a}"
    if turn is not None:
        return f"turn {turn} of {a} and {b} is identical to the last record"
    count = comparison.turns[-1].turn
    turns = "neither has turns yet" if not count else f"{count} turn{'s' if count > 1 else ''}, to the last record"
    return f"{a} and {b} are identical: {turns}"


def _print_comparison(
    console: Console,
    runs: tuple[RunRecord, RunRecord],
    starts: tuple[Start, Start],
    comparison: Comparison,
    figures: dict[str, Any],
    whole: bool,
) -> None:
    """Print how two runs differ.

    Args:
        console: Where to.
        runs: The two runs.
        starts: What they started from.
        comparison: The comparison.
        figures: How varied they are; nothing for none.
        whole: Whether every difference of a turn is told, path by path.
    """
    for name, run, start in zip("AB", runs, starts, strict=True):
        made = [run.scenario, people_line(start), *settings(run), *(["rehearsed"] if run.rehearsed else [])]
        parent = [f"forked from {run.parent[0]} at turn {run.parent[1]}"] if run.parent else []
        line = " · ".join([run.run, *made, *parent, f"{run.turns} turns"])
        console.print(Text.assemble((f"{name}  ", _STYLES[name]), plain(line)))
    console.print()
    if comparison.settings:
        console.print(plain("what they were made with", "bold"))
        console.print(_paths(comparison.settings))
        console.print()
    if not comparison.differing:
        console.print(plain("the conversations are identical", "bold"))
    else:
        console.print(plain(_parting(comparison.differing[0]), "bold"))
    silences = tuple(Parameters.model_validate(run.parameters).silence_s for run in runs)
    same: list[int] = []
    for turn in comparison.turns:
        if turn.is_same:
            same += [turn.turn] if turn.turn else []
            continue
        _print_same(console, same)
        _print_turn(console, turn, starts, (silences[0], silences[1]), whole)
        same = []
    _print_same(console, same)
    if figures:
        _print_figures(console, figures)


def _parting(turn: TurnComparison) -> str:
    where = f"turn {turn.turn}" if turn.turn else "the preparation"
    if turn.a is None or turn.b is None:
        return f"they part at {where}: only {'B' if turn.a is None else 'A'} goes on"
    first, *others = map(_named, turn.aspects)
    after = f", then {', '.join(others)}" if others else ""
    return f"they part at {where}: {first}{after}"


def _named(aspect: str) -> str:
    return _NAMES.get(aspect, aspect)


def _print_same(console: Console, turns: Sequence[int]) -> None:
    """Print that turns between two that differ are the same."""
    if turns:
        which = f"turns {turns[0]} to {turns[-1]} are" if len(turns) > 1 else f"turn {turns[0]} is"
        console.print(plain(f"{which} the same", "dim"))
        console.print()


def _print_turn(
    console: Console, turn: TurnComparison, starts: tuple[Start, Start], silences: tuple[float, float], whole: bool
) -> None:
    console.print(plain(f"turn {turn.turn}" if turn.turn else "the preparation", "bold cyan"))
    if turn.turn:
        _print_said(console, turn, starts, silences)
    if turn.a is not None and turn.b is not None:
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(style="dim", no_wrap=True)
        for row in _details(turn.a, turn.b, turn.aspects):
            table.add_row(*row)
        console.print(Padding(table, (0, 0, 0, 2), expand=False))
        if whole:
            console.print(_paths(turn.differences))
    console.print()


def _print_said(
    console: Console, turn: TurnComparison, starts: tuple[Start, Start], silences: tuple[float, float]
) -> None:
    """Print who says what in both runs, side by side in a terminal; words that one has alone are marked."""
    text_a, text_b = ((one or other or {})["text"] for one, other in ((turn.a, turn.b), (turn.b, turn.a)))
    passages = word_differences(text_a, text_b)
    cells = [
        _said(name, document, words, start, silence_s, console.is_terminal)
        for name, document, words, start, silence_s in zip(
            "AB", (turn.a, turn.b), passages, starts, silences, strict=True
        )
    ]
    if console.is_terminal:
        grid = Table.grid(padding=(0, 2, 0, 0), expand=True)
        for _ in cells:
            grid.add_column(ratio=1)
        grid.add_row(*cells)
        console.print(Padding(grid, (0, 0, 0, 2)))
    else:
        for cell in cells:
            console.print(Text.assemble("  ", cell))


def _said(
    name: str,
    document: Document | None,
    passages: Sequence[tuple[str, bool]],
    start: Start,
    silence_s: float,
    has_styles: bool,
) -> Text:
    line = Text.assemble((name, _STYLES[name]), "  ")
    if document is None:
        return line.append("–", "dim")
    line.append(f"{clock(document['clock'], start).strip()}  ", "dim")
    if document["speaker"] is None:
        return line.append(silence(silence_s), "dim italic")
    line.append_text(plain(f"{document['speaker']}:", "bold"))
    before, after = ("", "") if has_styles else _MARKS[name]
    for words, is_common in passages:
        line.append(" ")
        line.append(
            clean(words) if is_common else f"{before}{clean(words)}{after}",
            "" if is_common else f"underline {_STYLES[name]}",
        )
    return line.append("  ∎", "dim") if document["ending"] else line


def _details(a: Document, b: Document, aspects: Sequence[str]) -> Iterator[tuple[str, Text]]:
    """Yield in words what differs in a turn besides what is said; what is left is named."""
    if "floor" in aspects:
        yield "floor", plain(_both(*(_floor(one) for one in (a, b))))
    for agent, words in _agents(a, b):
        yield "", Text.assemble(plain(agent, "bold"), plain(f": {words}"))
    if "removed" in aspects:
        alone = [(name, _without(one["removed"], other["removed"])) for name, one, other in (("A", a, b), ("B", b, a))]
        told = [f"only in {name}: {', '.join(units)}" for name, units in alone if units]
        yield "removed", plain("; ".join(told) or "the same units in another order")
    if "scores" in aspects:
        yield "scores", plain(_scores(a, b))
    if "judgement" in aspects:
        yield "judge", plain(_both(*(_judgement(one) for one in (a, b))))
    if others := [aspect for aspect in aspects if aspect not in _TOLD]:
        yield "and in", plain(", ".join(map(_named, others)), "dim")


def _both(a: str, b: str) -> str:
    return f"{a} | {b}"


def _floor(document: Document) -> str:
    floor = document["floor"]
    if floor is None or floor["waited_s"] is None:
        return "nobody" if floor else "–"
    return f"{document['speaker']} after {floor['waited_s']:.2f} s"


def _agents(a: Document, b: Document) -> Iterator[tuple[str, str]]:
    """Yield who differs in mechanisms, willingness or latency, and how."""
    for agent in dict.fromkeys([*a["willingness"], *b["willingness"]]):
        on_a, on_b = switched_on(a, agent), switched_on(b, agent)
        told = [
            f"on in {run} alone: {', '.join(map(in_words, names))}"
            for run, names in (("A", _without(on_a, on_b)), ("B", _without(on_b, on_a)))
            if names
        ]
        for what, aspect, figure in (("W", "willingness", "willingness"), ("seconds", "latency", "latency_s")):
            one, other = (document[aspect].get(agent, {}).get(figure) for document in (a, b))
            if one != other:
                told.append(f"{what} {_both(number(one, 2), number(other, 2))}")
        if told:
            yield agent, "; ".join(told)


def _scores(a: Document, b: Document) -> str:
    largest = largest_score_difference(a, b)
    if largest is None:
        return "of other units" if a["scores"]["units"] and b["scores"]["units"] else "only one of the two was scored"
    both = _both(f"{largest.a:.4g}", f"{largest.b:.4g}")
    return f"{largest.differing} units differ, most of all {largest.unit}: {both}"


def _judgement(document: Document) -> str:
    judgement = document["judgement"]
    judged = [one["inconsistency"] for one in judgement.values() if isinstance(one, dict)]
    figures = [number(figure, 2) for figure in judged if figure is not None]
    return f"{', '.join(figures) or '–'} ({judgement['rollbacks']} rolled back)"


def _paths(differences: Iterable[Difference]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading, style in (("", "dim"), ("A", _STYLES["A"]), ("B", _STYLES["B"])):
        table.add_column(heading, style=style, overflow="fold", no_wrap=not heading)
    for one in differences:
        table.add_row(plain(".".join(one.path)), _value(one.a), _value(one.b))
    return table


def _value(value: Any) -> Text:
    """Return a value as it is shown: shortened, and in one line."""
    if value is None:
        return Text("–")
    if isinstance(value, float):
        return Text(f"{value:.9g}")
    is_text = isinstance(value, str)
    shown = plain(value if is_text else json.dumps(value, ensure_ascii=False))
    shown.truncate(_SHOWN if is_text else _SHOWN_OF_VALUES, overflow="ellipsis")
    return shown


def _print_figures(console: Console, figures: dict[str, Any]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("", "A", "B"):
        table.add_column(heading, justify="right" if heading else "left")
    for name in figures["a"]:
        table.add_row(name, *(number(figures[run][name]) for run in "ab"))
    console.print(table)
    if "sim" in figures:
        whole = number(figures["sim_untruncated"])
        console.print(plain(f"similarity of the two: {number(figures['sim'])} ({whole} embedded whole)"))
