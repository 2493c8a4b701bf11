"""An experiment as data: cases × settings × trials, from a YAML file or from Python.

```yaml
name: rules or not
cases: [tidewell:all]          # every case of the shipped town; `tidewell:3` is one of them
settings:
  with rules: {lambda: 0.5}
  without: {lambda: 0.5, special_rules: false}
trials: 10
rounds: 8
```
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from tertulia.lab.experiments.sources import source_of
from tertulia.models.served.chat_names import is_same_served
from tertulia.runs.access.named_files import NamedFile, files_named, folder_of_store, require_files, scenarios_in
from tertulia.runs.access.trust import Trust
from tertulia.state.case_seed import case_key
from tertulia.state.errors import (
    NotFoundError,
    ScenarioError,
    SettingError,
    StorageError,
    TertuliaError,
    UsageError,
    nearest_hint,
)
from tertulia.state.experiment import ExperimentRecord
from tertulia.state.meeting import Start
from tertulia.state.parameters import ALIASES, NodeSetting
from tertulia.state.parameters.album import NAME_FILES
from tertulia.state.records import Record, Trial
from tertulia.state.text import first_line
from tertulia.state.wrong_values import wrong_value
from tertulia.storage.addresses import StoreAddress
from tertulia.storage.store import SqlStore

#: The parameters of a setting by name, as `--set` takes them.
Setting = dict[str, NodeSetting | None]

#: The text behind a scenario's name for all of its cases.
ALL_CASES = ":all"

#: How many cases and settings a message lists of those that a merge would add, and characters of each.
_LISTED, _LONGEST = 20, 200

#: Fields that may differ when an experiment is asked for again: it may grow, and have other cohorts from then on.
_MAY_GROW = ("cases", "settings")
_MAY_CHANGE = ("trials", "description", "baseline", "cohort_size", "plan")

#: Parameters that an experiment settles itself, so that no setting may.
_NOT_IN_SETTINGS = {"seed": "seed", "max_turns": "rounds", "max_rounds": "rounds", "seat": None}


#: Settings and cases of an experiment, at most: each is tried before anything runs, for a twentieth of a second.
MOST_SETTINGS, MOST_CASES = 500, 5_000

#: Conversations of an experiment, at most: to list them takes a second and 200 MB; to hold them, even rehearsed, hours.
MOST_CONVERSATIONS = 1_000_000


class Experiment(Record):
    """Which conversations an experiment has. Source: APP §2 (cases, and trials of each)."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=80, description="what it is called in the store")
    description: str = ""
    cases: tuple[str, ...] = Field(min_length=1, description="scenarios, as `tertulia run` takes them; `NAME:all`")
    settings: dict[str, Setting] = Field(min_length=1, description="by name, parameters over those of the scenario")
    trials: int = Field(10, ge=1, le=10_000, description="conversations of each case in each setting (APP §2: 10)")
    rounds: int | None = Field(None, ge=1, description="most rounds of each; unset: the scenario's")
    seed: int = Field(1, description="of the first trial; trial t has seed + t - 1, in every case and setting")
    model: str = Field("smollm2", description="everybody's model")
    baseline: str | None = Field(None, description="the setting that others are compared with; unset: the first")
    cohort_size: int = Field(10, ge=1, le=1024, description="conversations that are driven side by side")
    plan: str = Field("", description="what was planned before the first trial; written by this program")

    @model_validator(mode="after")
    def _check_size(self) -> "Experiment":
        if problem := self.size_problem():
            raise PydanticCustomError("complete", "{words}", {"words": problem})  # a message shows it without the value
        return self

    def size_problem(self) -> str | None:
        """Return why it is too large to be run; `None` if it is not."""
        conversations = len(self.cases) * len(self.settings) * self.trials
        for count, most, what in (
            (len(self.settings), MOST_SETTINGS, "settings"),
            (len(self.cases), MOST_CASES, "cases"),
            (conversations, MOST_CONVERSATIONS, "conversations (cases × settings × trials)"),
        ):
            if count > most:
                return f"it has {count:,} {what}, and may have {most:,}; make several experiments of it"
        return None

    @property
    def compared_with(self) -> str:
        """The setting that the others are compared with."""
        return self.baseline or next(iter(self.settings))

    def seed_of(self, trial: int) -> int:
        """Return the seed of a trial, which is the same in every case and setting."""
        return self.seed + trial - 1

    def parameters(self, setting: str) -> dict[str, Any]:
        """Return the parameters of a setting, the limit of rounds among them."""
        limit = {} if self.rounds is None else {"max_turns": self.rounds}
        return {**self.settings[setting], **limit}

    def files(self, folder: Path = Path()) -> Iterator[NamedFile]:
        """Yield the files that it reads; relative paths start from a folder."""
        return files_named(self.cases, self.settings, folder)

    def places(self) -> Iterator[tuple[str, str, int]]:
        """Yield case, setting and number of every trial, case by case, as those of a case share most."""
        for case in self.cases:
            for setting in self.settings:
                for trial in range(1, self.trials + 1):
                    yield case, setting, trial


def experiment_with(values: Mapping[str, Any]) -> Experiment:
    """Return the experiment of these fields.

    Raises:
        UsageError: There can be none like that.
    """
    try:
        return Experiment.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        raise UsageError(f"{where or 'the experiment'}: {wrong_value(problem)}") from None


def place_of(trial: Trial) -> tuple[str, str, int]:
    """Return case, setting and number of a trial."""
    return trial.case, trial.setting, trial.trial


def schema_document() -> dict[str, Any]:
    """Return the JSON Schema of experiment files, as it is shipped in docs/experiment.schema.json."""
    schema = Experiment.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Experiment of Tertulia"}


def read_experiment(path: Path, extensions: Sequence[str] = (), trust: Trust | None = None) -> Experiment:
    """Return the checked experiment of a YAML file; files that it names must lie in its folder, or be trusted.

    Raises:
        NotFoundError: There is no such file.
        TrustError: It names a file elsewhere that the user does not trust.
        ScenarioError: It is no experiment; the message names file, line and field.
        UsageError: It can't be made like that.
    """
    from tertulia.worlds.yaml_file import YamlFile

    file = YamlFile.read(path)
    experiment = file.parse(Experiment, {}).model_copy(update={"plan": ""})
    require_files(experiment.files(path.parent), str(path), path.parent, Trust() if trust is None else trust)
    named = _named_from_here(experiment, path.parent)
    reached: list[tuple[str | int, ...]] = [()]
    try:
        return checked(named, extensions, at=reached.append)
    except (UsageError, NotFoundError) as error:
        found = file.error(_problem_of(error, named, reached[-1]))
        raise (found if isinstance(error, UsageError) else NotFoundError(str(found))) from None


def _problem_of(
    error: TertuliaError, experiment: Experiment, reached: tuple[str | int, ...]
) -> tuple[tuple[str | int, ...], str]:
    """Return the place in its file at which an experiment is wrong, and how, as far as it was `checked`."""
    if isinstance(error, NotFoundError | ScenarioError) and reached[:1] == ("settings",):
        return ("cases", 0), str(error)  # it is the first case that each setting is tried on
    if isinstance(error, SettingError) and reached[:1] == ("settings",):
        setting = experiment.settings[str(reached[1])]
        written = next((name for name in setting if ALIASES.get(name, name) == error.setting), None)
        if written is not None:
            return (*reached, written), f"{error.value}{error.problem}"
    return reached, str(error)


def _named_from_here(experiment: Experiment, folder: Path) -> Experiment:
    """Return an experiment of a file in a folder with its files named as they are from the current folder."""
    from tertulia.worlds.catalog import named_from_here, path_from_here

    def from_here(name: str, value: Any) -> Any:
        if name == "items_from" and isinstance(value, str):
            return ",".join(named_from_here(scenario, folder) for scenario in scenarios_in(value))
        return path_from_here(value, folder) if name in NAME_FILES and isinstance(value, str) else value

    settings = {
        setting: {name: from_here(name, value) for name, value in parameters.items()}
        for setting, parameters in experiment.settings.items()
    }
    cases = tuple(named_from_here(case, folder) for case in experiment.cases)
    return experiment.model_copy(update={"cases": cases, "settings": settings})


def require_files_of(experiment: Experiment, store: StoreAddress | str, trust: Trust) -> None:
    """Refuse files that an experiment of a store names, and that lie elsewhere and the user does not trust.

    Raises:
        TrustError: There are such.
    """
    require_files(experiment.files(), f"experiment {experiment.name!r} of {store}", folder_of_store(store), trust)


def experiment_of(record: ExperimentRecord) -> Experiment:
    """Return the experiment of a record in the store.

    Raises:
        StorageError: Its definition is none.
    """
    try:
        return Experiment.model_validate(record.definition)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"])) or problem["msg"]
        raise StorageError(f"the definition of experiment {record.experiment} is damaged: {where}") from None


def checked(
    experiment: Experiment,
    extensions: Sequence[str] = (),
    store: SqlStore | None = None,
    at: Callable[[tuple[str | int, ...]], None] = lambda place: None,
) -> Experiment:
    """Return an experiment with its cases expanded and its settings tried on the first case.

    The extensions are files with nodes and mechanisms that the settings may name; a store is needed if cases are turns
    of its runs.

    Args:
        at: Is told which field is looked at next, as a path of names and indices.

    Raises:
        TertuliaError: A scenario does not exist, two are the same case, or a setting can't be run.
    """
    from tertulia.lab.experiments.fork_points import plan_case
    from tertulia.runs.planning.additions import Additions

    additions = Additions(extensions=extensions)
    if experiment.baseline is not None and experiment.baseline not in experiment.settings:
        at(("baseline",))
        hint = nearest_hint(experiment.baseline, experiment.settings)
        raise UsageError(f"baseline {experiment.baseline!r} is none of the settings{hint}")
    for setting, parameters in experiment.settings.items():
        for name in parameters:
            if name in _NOT_IN_SETTINGS:
                at(("settings", setting))
                instead = _NOT_IN_SETTINGS[name]
                way = f"; set {instead} of the experiment" if instead else ": nobody is asked while trials run"
                raise SettingError(name, parameters[name], f" in setting {setting!r}{way}")
    entries: dict[str, int] = {}
    for number, named in enumerate(experiment.cases):
        at(("cases", number))
        for case in expanded(named):
            entries.setdefault(case, number)
    cases = tuple(entries)
    experiment = experiment.model_copy(update={"cases": cases})
    at(())
    if problem := experiment.size_problem():
        raise UsageError(f"experiment {experiment.name!r} can't be run: {problem}")
    first = next(iter(experiment.settings))
    for setting in experiment.settings:
        at(("settings", setting))
        plan = plan_case(store, cases[0], experiment.parameters(setting), experiment.model, additions)
    distinct = DistinctCases()
    distinct.add(cases[0], plan.start)
    for case in cases[1:]:
        at(("cases", entries[case]))
        for setting, parameters in experiment.settings.items():  # the allowed parameters depend on the case
            if setting == first or parameters.get("items_from") is not None:
                plan = plan_case(store, case, experiment.parameters(setting), experiment.model, additions)
        distinct.add(case, plan.start)
    return experiment


class DistinctCases:
    """Cases of an experiment by their content: a case under two names would count twice in each interval."""

    def __init__(self) -> None:
        self._names: dict[tuple[int, tuple[str, ...]], str] = {}

    def add(self, case: str, start: Start) -> None:
        """Note a case; `UsageError` if it is one of those before under another name."""
        known = self._names.setdefault(case_key(start), case)
        if known != case:
            raise UsageError(f"{known!r} and {case!r} are one case: the same people at the same time; name one of them")


def expanded(case: str) -> list[str]:
    """Return a case as it is, or all cases of a scenario, or all scenario files of a folder, that ends in `:all`."""
    from tertulia.worlds.catalog import list_cases

    if not case.endswith(ALL_CASES):
        return [case]
    source = case.removesuffix(ALL_CASES)
    if files := sorted(map(str, Path(source).glob("*.yaml"))):
        return files
    found = list_cases(source).cases
    return [f"{source}:{listed.number}" for listed in found] if len(found) > 1 else [source]


def cases_of_source(source: str) -> int | None:
    """Return how many cases a source has; `None` if it can't be told, as of a turn of a run or a file that is gone."""
    try:
        return len(expanded(f"{source}{ALL_CASES}"))
    except TertuliaError:
        return None


def more_cases(case: str, arguments: Sequence[str] = ()) -> str:
    """Return how to have more cases than this one, in a sentence.

    Args:
        arguments: Those of a command that names the case; then the sentence ends with the command for all cases.
    """
    every = f"{source_of(case)}{ALL_CASES}"
    if (cases_of_source(source_of(case)) or 1) < 2:
        return f"Name several scenarios, or one with cases, such as tidewell{ALL_CASES}"
    if case not in arguments:
        return f"Take all cases of it: {every}"
    once = [argument for at, argument in enumerate(arguments) if argument != case or arguments.index(case) == at]
    command = shlex.join(["tertulia", *(every if argument == case else argument for argument in once)])
    return f"With all cases of it: {command}"


def joined(known: Experiment, given: Experiment) -> Experiment:
    """Return an experiment that was asked for again: it may have more cases, settings and trials than before.

    Raises:
        UsageError: Trials that were run would have been run otherwise.
    """
    fixed = [name for name in Experiment.model_fields if name not in (*_MAY_GROW, *_MAY_CHANGE)]
    differing = [name for name in fixed if getattr(known, name) != getattr(given, name)]
    if is_same_served(known.model, given.model):  # its server may change
        differing = [name for name in differing if name != "model"]
    changed = [s for s in known.settings.keys() & given.settings.keys() if known.settings[s] != given.settings[s]]
    if differing or changed:
        first = (
            f"{differing[0]} was {getattr(known, differing[0])}, and is {getattr(given, differing[0])}"
            if differing
            else f"setting {changed[0]!r} was {known.settings[changed[0]]}, and is {given.settings[changed[0]]}"
        )
        raise UsageError(
            f"experiment {known.name!r} is in the store with other settings: {first}; take another name (--name), or "
            "another store"
        )
    grown: dict[str, Any] = {
        "model": known.model,
        "plan": known.plan,
        "cases": tuple(dict.fromkeys((*known.cases, *given.cases))),
        "settings": {**known.settings, **given.settings},
        "trials": max(known.trials, given.trials),
    }
    return given.model_copy(update=grown)


def joined_definitions(known: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions that two stores have of an experiment as one; the older one's first case and setting stay.

    Raises:
        UsageError: They are different experiments, or one of them is none.
    """
    try:
        experiments = [Experiment.model_validate(definition) for definition in (known, given)]
    except ValidationError as error:
        raise UsageError(f"its definition is damaged: {first_line(error)}") from None
    both = joined(*experiments)
    if problem := both.size_problem():
        raise UsageError(f"together {problem}")
    names = _in_one_order(*(list(experiment.settings) for experiment in experiments))
    united: dict[str, Any] = {
        "cases": tuple(_in_one_order(*(list(experiment.cases) for experiment in experiments))),
        "settings": {name: both.settings[name] for name in names},
        **{
            name: max(getattr(e, name) for e in experiments) for name in ("model", "description", "cohort_size", "plan")
        },
        "baseline": max((e.baseline for e in experiments), key=lambda name: name or ""),
    }
    return both.model_copy(update=united).model_dump(mode="json")


def additions_to(known: dict[str, Any], united: dict[str, Any]) -> str | None:
    """Describe the cases and settings by which the definition of an experiment would grow; `None` if there are none."""
    added = [f"case {case!r}" for case in united["cases"] if case not in known["cases"]]
    for name, values in united["settings"].items():
        if name not in known["settings"]:
            parameters = ", ".join(f"{parameter}={value}" for parameter, value in values.items()) or "nothing set"
            added.append(f"setting {name!r} ({parameters})")
    most = [words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…" for words in added[:_LISTED]]
    further = [f"{len(added) - _LISTED:,} more"] if len(added) > _LISTED else []
    return ", ".join([*most, *further]) or None


def agree_to_growth(name: str, known: dict[str, Any], united: dict[str, Any], ask: Callable[[str], bool]) -> None:
    """Ask whether the definition of an experiment may grow by the cases and settings of another store.

    Raises:
        UsageError: It may not; the message lists the additions.
    """
    added = additions_to(known, united)
    if added is not None and not ask(f"to be added to experiment {name!r}: {added}"):
        raise UsageError(f"it would add {added}; if that is what you want, give --yes")


def _in_one_order(known: list[str], given: list[str]) -> list[str]:
    """Return the names of both: the longer list if it begins with the other, else all after the first one sorted."""
    shorter, longer = sorted((known, given), key=len)
    if longer[: len(shorter)] == shorter:
        return longer
    rest = {*known[1:], *given} - {known[0]}
    return [known[0], *sorted(rest, key=lambda name: [part.zfill(9) for part in re.split(r"(\d+)", name)])]
