"""Compare the dialogues that cases come with, logged or written, with generated ones: each by itself, as long."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache

from tertulia.lab.experiments.results import TrialRun
from tertulia.lab.pages.page import Column, Paragraph, Section, Table
from tertulia.metrics.diversity import Dialogue, distinct_n, mean, words_per_utterance
from tertulia.runs.access.named_files import is_shipped
from tertulia.state.errors import TertuliaError
from tertulia.views.measuring.dialogues import is_log, logged_dialogue

_COLUMNS = (
    Column("setting", "setting"),
    *(Column(f"dist{n}_within", f"dist-{n} within", "number") for n in (1, 2, 3)),
    Column("len", "len", "number", 1),
    Column("cases", "n cases", "count"),
    Column("dialogues", "n dialogues", "count"),
)


def logged_section(
    runs: Sequence[TrialRun], baseline: str, may_read: Callable[[str], bool] = is_shipped
) -> Section | None:
    """Return the figures of single dialogues, generated and logged; `None` if no case has a logged dialogue.

    A case of a log has the dialogue that was had; one of a shipped town has one that was written for it. It is one, so
    figures over a case's trials can't be compared with it. Its own figures can: those of each generated dialogue, and
    of as many of the first logged utterances as a dialogue of the baseline has.

    Args:
        may_read: Whether the log of a case is read: a store may name a folder that is none of its sender's business.
    """
    logged = _logged(tuple(case for case in dict.fromkeys(run.case for run in runs) if may_read(case)))
    compared = [run for run in runs if run.case in logged and run.dialogue]
    beginnings = [(run.case, logged[run.case][: len(run.dialogue)]) for run in compared if run.setting == baseline]
    if not beginnings:
        return None
    is_written = all(is_shipped(case) for case, _ in beginnings)
    known = "written" if is_written else "logged"
    rows = [[*_row(f"as {known}", beginnings)[:-1], len({case for case, _ in beginnings})]]
    for setting in dict.fromkeys(run.setting for run in compared):
        rows.append(_row(setting, [(run.case, run.dialogue) for run in compared if run.setting == setting]))
    origin = (
        "Each case of a shipped town comes with a dialogue that was written for the town"
        if is_written
        else "The cases come from a log, which has the dialogue that was had there"
    )
    text = (
        f"{origin}. Dist-N is taken within a dialogue here, over as many utterances of the {known} one, and averaged "
        "over cases."
    )
    table = Table("logged", f"Single dialogues, {known} and generated", _COLUMNS, rows)
    return Section("Beside the written dialogues" if is_written else "Beside the log", [Paragraph(text), table])


def _row(setting: str, dialogues: Sequence[tuple[str, Dialogue]]) -> list[str | float | int | None]:
    by_case: dict[str, list[Dialogue]] = {}
    for case, dialogue in dialogues:
        by_case.setdefault(case, []).append(dialogue)

    def over_cases(figures: Mapping[str, Sequence[float | None]]) -> float | None:
        return mean(mean(of_case) for of_case in figures.values())

    distinct = [
        over_cases({case: [distinct_n([dialogue], n) for dialogue in found] for case, found in by_case.items()})
        for n in (1, 2, 3)
    ]
    length = over_cases({case: [words_per_utterance([d]) for d in found] for case, found in by_case.items()})
    return [setting, *distinct, length, len(by_case), len(dialogues)]


@lru_cache(maxsize=4)
def _logged(cases: tuple[str, ...]) -> dict[str, Dialogue]:
    found: dict[str, Dialogue] = {}
    for case in filter(is_log, cases):
        with suppress(TertuliaError):  # the folder may be gone; then the page does without it
            found[case] = logged_dialogue(case)
    return found
