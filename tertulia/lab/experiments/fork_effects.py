"""Settings at one turn of a run: the lines that follow it, seed by seed, and the effects, paired by seed.

1. A seed is the same in every setting, so trials of one seed differ by the setting alone.
2. Words per line, and the share of lines that equal the first setting's at the same turn, are figures of each seed.
3. Dist-3 is over the lines of all seeds together; a seed's part in it is its jackknife pseudo-value.
4. Intervals are Student's, 95 %, over seeds. They are of this turn alone: another turn may have another effect.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.fork_points import fork_point_of
from tertulia.lab.experiments.results import TrialRun, read_results
from tertulia.metrics.diversity import Dialogue, distinct_n, words_per_utterance
from tertulia.metrics.statistics import Contrast, contrast_of_cases
from tertulia.state.documents import Document
from tertulia.state.text import clean, counted, number, shortened
from tertulia.storage.store import SqlStore

#: The measures, and their names for readers.
MEASURES = {"words_per_line": "words per line", "dist3": "dist-3", "equal_lines": "equal lines"}

#: Characters of a line that are shown.
_LINE_LENGTH = 70


@dataclass(frozen=True)
class Line:
    """The line of a turn; no speaker and no text: a silence."""

    turn: int
    speaker: str | None
    text: str


@dataclass(frozen=True)
class SeedLines:
    """The new lines of a trial."""

    trial: int
    seed: int
    run: str
    lines: tuple[Line, ...]

    @property
    def dialogue(self) -> Dialogue:
        """Its lines as they are measured."""
        return [(line.speaker or "", line.text) for line in self.lines]


@dataclass(frozen=True)
class Effect:
    """A figure of a setting over the seeds that both settings have, and how far it is from the first setting's.

    Attributes:
        value: The figure; of `equal_lines` a share in [0, 1].
        difference: From the first setting; `None` for that itself, and for `equal_lines`, which compares already.
        ci_low, ci_high: The 95 % interval of the difference, or of the share of equal lines; `None` with one seed, or
            if all seeds are alike.
        seeds: How many seeds it is over.
    """

    value: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    seeds: int

    @classmethod
    def of(cls, value: float | None, compared: Contrast, is_share: bool = False) -> "Effect":
        """Return a figure with its contrast over seeds; a share stays within 0 and 1."""
        low, high = compared.ci_low, compared.ci_high
        if is_share and low is not None and high is not None:
            low, high = max(0.0, low), min(1.0, high)
        return cls(value, None if is_share else compared.value, low, high, compared.cases)


@dataclass(frozen=True)
class Branch:
    """A setting, the lines of its seeds, and its effects by measure (`MEASURES`)."""

    setting: str
    trials: tuple[SeedLines, ...]
    effects: Mapping[str, Effect]


@dataclass(frozen=True)
class Shown:
    """A node of a tree of texts."""

    text: str
    below: tuple["Shown", ...] = ()


@dataclass(frozen=True)
class ForkEffects:
    """The lines after a turn of a run in every setting of an experiment.

    Attributes:
        run, turn: The parent, and the first turn that the trials have of their own.
        before: The last turn that all share; `None` if they begin at the first.
    """

    run: str
    turn: int
    before: Line | None
    branches: tuple[Branch, ...]

    def document(self) -> Document:
        """Return it as JSON."""
        before = None if self.before is None else asdict(self.before)
        return {
            "parent": {"run": self.run, "turn": self.turn},
            "before": before,
            "branches": [*map(asdict, self.branches)],
        }

    def tree(self) -> Shown:
        """Return it as a tree: the last shared line, below it the settings, below each its seeds and effects."""
        where = "before its first turn" if self.before is None else f"turn {self.before.turn}: {_said(self.before)}"
        first = self.branches[0].setting
        return Shown(
            f"run {self.run}, {where}",
            tuple(Shown(branch.setting, tuple(_below(branch, first))) for branch in self.branches),
        )


def effects_after(store: SqlStore, experiment: Experiment) -> ForkEffects | None:
    """Return the lines after a turn in the settings of an experiment whose case is one.

    `None` if its cases are scenarios, or no trial has finished.
    """
    point = fork_point_of(experiment.cases[0])
    if point is None or not (results := read_results(store, experiment)).runs:
        return None
    trials = {
        setting: [
            _seed_lines(store, found, experiment) for of_case in results.of(setting).values() for found in of_case
        ]
        for setting in experiment.settings
    }
    first = trials[next(iter(trials))]
    branches = (Branch(setting, tuple(found), _effects(found, first)) for setting, found in trials.items())
    shared = _lines(store, point.run, point.turn - 1, point.turn - 1) if point.turn > 1 else ()
    return ForkEffects(point.run, point.turn, next(iter(shared), None), tuple(branches))


def _seed_lines(store: SqlStore, found: TrialRun, experiment: Experiment) -> SeedLines:
    lines = _lines(store, found.run.run, found.first_turn)
    spoken = tuple(line for line in lines if line.speaker is not None)
    return SeedLines(found.trial, experiment.seed_of(found.trial), found.run.run, spoken)


def _lines(store: SqlStore, run: str, first: int, last: int | None = None) -> tuple[Line, ...]:
    return tuple(Line(turn.turn, turn.speaker, turn.text) for turn in store.turns(run, first, last))


# --- effects --------------------------------------------------------------------------------------------------------


def _effects(trials: Sequence[SeedLines], first: Sequence[SeedLines]) -> dict[str, Effect]:
    """Return the figures of a setting over the seeds that the first setting has too, and their differences to that."""
    by_seed = {trial.seed: trial for trial in trials if trial.lines}
    in_first = {trial.seed: trial for trial in first if trial.lines}
    seeds = [seed for seed in by_seed if seed in in_first]
    here, there = [by_seed[seed] for seed in seeds], [in_first[seed] for seed in seeds]
    dialogues, others = [trial.dialogue for trial in here], [trial.dialogue for trial in there]
    lengths = [
        _less(words_per_utterance([a]), words_per_utterance([b])) for a, b in zip(dialogues, others, strict=True)
    ]
    parts = [_less(a, b) for a, b in zip(_parts(dialogues), _parts(others), strict=True)]
    equal = [_equal_share(*pair) for pair in zip(here, there, strict=True)]
    of_seeds = _over_seeds(seeds, equal)
    measured = {
        "words_per_line": Effect.of(_mean_of_seeds(dialogues, words_per_utterance), _over_seeds(seeds, lengths)),
        "dist3": Effect.of(_dist3(dialogues), _over_seeds(seeds, parts)),
        "equal_lines": Effect.of(of_seeds.value, of_seeds, is_share=True),
    }
    if trials is first:
        return {name: Effect(effect.value, None, None, None, effect.seeds) for name, effect in measured.items()}
    return measured


def _over_seeds(seeds: Sequence[int], values: Sequence[float | None]) -> Contrast:
    found = {str(seed): value for seed, value in zip(seeds, values, strict=True) if value is not None}
    return contrast_of_cases(found, {})


def _mean_of_seeds(dialogues: Sequence[Dialogue], figure: Callable[[Sequence[Dialogue]], float | None]) -> float | None:
    values = [value for dialogue in dialogues if (value := figure([dialogue])) is not None]
    return sum(values) / len(values) if values else None


def _dist3(dialogues: Sequence[Dialogue]) -> float | None:
    return distinct_n(dialogues, 3)


def _parts(dialogues: Sequence[Dialogue]) -> list[float | None]:
    """Return the part of each dialogue in dist-3 over all of them; their mean is that."""
    whole, count = _dist3(dialogues), len(dialogues)
    if whole is None or count < 2:
        return [whole] * count
    without = [_dist3([*dialogues[:at], *dialogues[at + 1 :]]) for at in range(count)]
    known = [value for value in without if value is not None]
    if len(known) < count:
        return [None] * count
    mean = sum(known) / count
    return [whole + (count - 1) * (mean - value) for value in known]


def _less(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def _equal_share(trial: SeedLines, first: SeedLines) -> float:
    known = {line.turn: line for line in first.lines}
    return sum(known.get(line.turn) == line for line in trial.lines) / len(trial.lines)


# --- shown ----------------------------------------------------------------------------------------------------------


def _below(branch: Branch, first: str) -> Iterator[Shown]:
    for trial in branch.trials:
        more = f" (and {counted(len(trial.lines) - 1, 'more line')})" if len(trial.lines) > 1 else ""
        first_line = _said(trial.lines[0]) if trial.lines else "nobody speaks"
        yield Shown(f"seed {trial.seed}, {trial.run}: {first_line}{more}")
    if not branch.trials:
        yield Shown("no trial has finished")
        return
    names = MEASURES if branch.setting != first else ("words_per_line", "dist3")
    effects = tuple(Shown(_effect(name, branch.effects[name])) for name in names)
    over = f"over {counted(max(effect.seeds for effect in branch.effects.values()), 'seed')}"
    if branch.setting != first:
        way = "" if len(branch.trials) > 1 else ", which gives no interval; give more --trials"
        over = f"against {first}, paired by seed, {over}{way}"
    yield Shown(over, effects)


def _effect(name: str, effect: Effect) -> str:
    shown = f"{MEASURES[name]} {number(effect.value)}"
    if effect.difference is not None:
        shown += f", {effect.difference:+.3f}"
    if effect.ci_low is not None and effect.ci_high is not None:
        digits = ".3f" if effect.difference is None else "+.3f"
        return f"{shown} [{effect.ci_low:{digits}}, {effect.ci_high:{digits}}]"
    return shown


def _said(line: Line) -> str:
    return "a silence" if line.speaker is None else shortened(clean(f"{line.speaker}: {line.text}"), _LINE_LENGTH)
