"""What was measured, as tables in Markdown."""

from collections.abc import Callable, Sequence
from statistics import median

from benchmarks.peers.measuring import Killed, Measured

#: Of an undisturbed conversation: the column, and its figure of one repetition.
_FIGURES: tuple[tuple[str, Callable[[Measured], float], str], ...] = (
    ("requests a turn", lambda m: m.requests / turns_of(m), ".1f"),
    ("prompt tokens a turn", lambda m: m.prompt_tokens / turns_of(m), ".0f"),
    ("wall s a turn", lambda m: m.report.wall_s if m.report else 0, ".2f"),
    ("CPU ms a turn", lambda m: 1000 * m.report.cpu_s if m.report else 0, ".0f"),
    ("CPU s besides", lambda m: m.report.other_cpu_s if m.report else 0, ".1f"),
    ("peak memory, MB", lambda m: m.report.peak_mb if m.report else 0, ".0f"),
    ("stored, KB a turn", lambda m: m.stored_bytes / 1024 / turns_of(m), ".0f"),
)
_FAILING = (_FIGURES[0], _FIGURES[2])


def turns_of(measured: Measured) -> int:
    """Return how many utterances a conversation came to, and 1 for none."""
    return max(1, len(measured.report.turns)) if measured.report else 1


def of_speed(rows: Sequence[tuple[str, Sequence[Measured]]]) -> str:
    """Return the table of undisturbed conversations: the medians, and from where to where the times went."""
    lines = [header(["", "turns", *(name for name, _, _ in _FIGURES)])]
    for name, repetitions in rows:
        held = [measured for measured in repetitions if measured.report]
        lines.append(row([name, *(_turns(held), *(_spread(held, *figure) for figure in _FIGURES))]))
    return "\n".join(lines)


def of_failures(rows: Sequence[tuple[str, Sequence[Measured]]]) -> str:
    """Return the table of conversations in which requests fail, and what those said that came to no end."""
    lines = [header(["", "came to their end", *(name for name, _, _ in _FAILING), "otherwise"])]
    for name, repetitions in rows:
        held = [measured for measured in repetitions if measured.report]
        failures = sorted({measured.failure[:90] for measured in repetitions if not measured.report})
        figures = (_spread(held, *figure) for figure in _FAILING)
        lines.append(row([name, f"{len(held)} of {len(repetitions)}", *figures, "; ".join(failures) or "–"]))
    return "\n".join(lines)


def of_kills(rows: Sequence[tuple[str, Killed, float]]) -> str:
    """Return the table of kills; each row has the answers that an undisturbed conversation takes."""
    lines = [header(["", "answers before the kill", "utterances kept", "answers paid again", "what lay there"])]
    for name, killed, needed in rows:
        again = "–" if killed.after is None else f"{max(0, killed.before + killed.after - needed):.0f}"
        lines.append(row([name, f"{killed.before} of {needed:.0f}", str(killed.kept), again, _files(killed)]))
    return "\n".join(lines)


def _files(killed: Killed) -> str:
    """Return the first file, how many more there are, and what all come to."""
    if not killed.files:
        return "nothing"
    more = f" and {len(killed.files) - 1} more" if len(killed.files) > 1 else ""
    return f"`{killed.files[0][0]}`{more}, {sum(size for _, size in killed.files) / 1024:.0f} KB"


def header(names: Sequence[str]) -> str:
    """Return the first two lines of a table."""
    return f"{row(names)}\n{'|'.join(['', *('---' for _ in names), ''])}"


def row(cells: Sequence[str]) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _turns(held: Sequence[Measured]) -> str:
    counts = sorted({turns_of(measured) for measured in held})
    return "–" if not counts else "–".join(dict.fromkeys((str(counts[0]), str(counts[-1]))))


def _spread(held: Sequence[Measured], _: str, figure: Callable[[Measured], float], form: str) -> str:
    """Return a median, and where it matters the lowest and the highest."""
    values = sorted(figure(measured) for measured in held)
    if not values:
        return "–"
    middle, low, high = (format(value, form) for value in (median(values), values[0], values[-1]))
    return middle if low == high else f"{middle} ({low}–{high})"
