"""Resolve a user's SCENARIO: a shipped one, a YAML file, or a Generative Agents run.

| scenario | case |
|---|---|
| `team_building` | the shipped meeting |
| `villagers` | a population with albums of pictures: the shipped one, or those of the parameters |
| `tidewell` | the last case of the shipped town: there the two have the most to remember |
| `tidewell:N` | its case N |
| `ga:FOLDER` | case 0 of the run in FOLDER |
| `ga:FOLDER:N` | its case N; a last `:digits` is always the case |
| `FILE.yaml` | the scenario of that file |
"""

import os
import re
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tertulia.state.album import Population
from tertulia.state.errors import NotFoundError, ScenarioError, UsageError, nearest_hint
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import ALBUM_CHAT
from tertulia.state.parameters.album import AlbumParameters
from tertulia.state.records import Case, Utterance
from tertulia.worlds.generative_agents import Log, read_log
from tertulia.worlds.meeting_file import MeetingScenario
from tertulia.worlds.scenario_file import TwoPartyScenario, read_scenario_file
from tertulia.worlds.scenario_object import PREFIX, ScenarioObject
from tertulia.worlds.scenario_parts import extension_source

#: The shipped towns, by name. A new town is a folder and a line here.
TOWNS = {"tidewell": Path(__file__).parent / "towns" / "tidewell"}

#: The shipped meetings, by name. A new meeting is a file and a line here.
MEETINGS = {
    name: Path(__file__).parent / "meetings" / f"{name}.yaml"
    for name in ("team_building", "ferry_timetable", "mothers_house")
}

#: The populations that meet in pairs, by name, with the parameters that each sets.
POPULATIONS = {"villagers": ALBUM_CHAT}

#: All that is shipped, in the order in which it is listed.
SHIPPED = (*TOWNS, *MEETINGS, *POPULATIONS)

#: Suffixes of scenario files.
FILE_ENDINGS = (".yaml", ".yml")

T = TypeVar("T")


@dataclass(frozen=True)
class ListedCase:
    """A case and its number.

    Attributes:
        case: The case, or the meeting; its `scenario` resolves to it again.
        memory_counts: By name, the number of records from strictly before the case, withheld records included.
        made_up_counts: How many of them the program of a log made up for failed replies: these are withheld.
    """

    number: int
    case: Start
    memory_counts: Mapping[str, int]
    made_up_counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Listing:
    """The cases of a source in order of time.

    Attributes:
        skipped: The number of chats that make no case, by reason.
        notes: Lines about the whole source: why it has no case, and the texts left out of it.
    """

    cases: tuple[ListedCase, ...]
    skipped: Mapping[str, int]
    notes: tuple[str, ...] = ()


def resolve(
    scenario: str | ScenarioObject,
    mechanisms: Collection[str] | None = None,
    parameters: AlbumParameters | None = None,
    pictures: MutableMapping[str, bytes] | None = None,
) -> Start:
    """Return the case, meeting or population that a scenario names or is; its `scenario` field is the argument.

    Args:
        mechanisms: Names of the known mechanisms; a meeting that names none has them all. With `None`, any name is
            accepted.
        parameters: Of the run; a population has its villagers and pictures from them.
        pictures: Gets the pictures of a population that a run stores, by their hash.

    Raises:
        NotFoundError: The name, the file or the folder does not exist, or there is no case of that number.
        ScenarioError: The file or run can't be read, or a participant has no memories.
        SettingError: The parameters ask for more villagers than there are, or for one.
    """
    parameters, pictures = parameters or AlbumParameters(), {} if pictures is None else pictures
    if isinstance(scenario, ScenarioObject):
        return scenario.start(mechanisms, parameters, pictures)
    if scenario in POPULATIONS:
        from tertulia.worlds.villagers import read_population  # takes numpy and Pillow

        return read_population(scenario, parameters, pictures)
    source, number = _open(scenario, mechanisms)
    if isinstance(source, MeetingScenario):
        return source.meeting(scenario, mechanisms)
    if isinstance(source, TwoPartyScenario):
        return source.case(scenario)
    case = source.case(number if number is not None else _default_case(scenario, source), scenario)
    for participant in (case.initiator, case.partner):
        if not participant.memories:
            raise ScenarioError(
                f"{scenario}: {participant.persona.name!r} has no memory from before {case.time}; choose another case "
                "(`tertulia scenarios` lists them)"
            )
    return case


def list_cases(source: str, mechanisms: Collection[str] | None = None) -> Listing:
    """Return the cases of a source, or the single case that it names. A meeting or a population counts as a case.

    Args:
        mechanisms: As for `resolve`.

    Raises:
        NotFoundError: The name, the file or the folder does not exist, or there is no case of that number.
        ScenarioError: The file or run can't be read. A run without a dialogue has no cases, and is none.
    """
    opened, number = (None, None) if source in POPULATIONS else _open(source, mechanisms)
    if not isinstance(opened, Log):
        case = resolve(source, mechanisms)
        counts = {name: len(case.participant(name).memories) for name in case.names}
        return Listing(cases=(ListedCase(0, case, counts),), skipped={})
    numbers = range(len(opened.dialogues)) if number is None else (number,)
    name = source if number is None else source.rpartition(":")[0]
    return Listing(
        cases=tuple(
            ListedCase(n, opened.case(n, f"{name}:{n}"), opened.memory_counts(n), opened.made_up_counts(n))
            for n in numbers
        ),
        skipped=opened.skipped,
        notes=tuple(note for note in (opened.gap, opened.files.made_up_note) if note),
    )


def logged_cases(source: str) -> dict[str, tuple[Case, tuple[Utterance, ...]]]:
    """Return the cases of the log of a town or run, and the lines of each, by the scenario that names the case.

    Args:
        source: A shipped town, or `ga:FOLDER`; with `:N` only the lines of its case N.

    Raises:
        NotFoundError, ScenarioError: As `logged_case`.
    """
    log, number = _open_log(source)
    if log.gap:
        raise ScenarioError(log.gap)
    scenarios = {source: number} if number is not None else {f"{source}:{at}": at for at in range(len(log.dialogues))}
    return {scenario: (log.case(at, scenario), log.dialogue(at).utterances) for scenario, at in scenarios.items()}


def logged_case(scenario: str) -> tuple[Utterance, ...]:
    """Return the logged lines of a case; without `:N`, of the case that `resolve` takes.

    Raises:
        NotFoundError: The folder does not exist, or there is no case of that number.
        ScenarioError: It can't be read, or it is no log.
    """
    log, number = _open_log(scenario)
    return log.dialogue(_default_case(scenario, log) if number is None else number).utterances


def _open_log(source: str) -> tuple[Log, int | None]:
    opened, number = _open(source, None)
    if not isinstance(opened, Log):
        raise ScenarioError(f"{source} has no logged dialogues; give ga:FOLDER, or a town ({', '.join(TOWNS)})")
    return opened, number


def describe(listing: Listing) -> dict[str, Any]:
    """Return a listing as the JSON of `tertulia scenarios`: a row per case, the chats that make none, and notes."""
    return {
        "cases": [_row(listed) for listed in listing.cases],
        "skipped": dict(listing.skipped),
        "notes": list(listing.notes),
    }


def _row(listed: ListedCase) -> dict[str, Any]:
    case = listed.case
    if isinstance(case, Meeting | Population):
        people = {"title": case.title, "participants": list(case.names), "initiator": None, "partner": None}
    else:
        people = {"initiator": case.initiator.persona.name, "partner": case.partner.persona.name}
    return {
        "case": listed.number,
        "scenario": case.scenario,
        "time": f"{case.time:%Y-%m-%d %H:%M:%S}",
        **people,
        "memories": dict(listed.memory_counts),
        **({"made_up": dict(listed.made_up_counts)} if any(listed.made_up_counts.values()) else {}),
        "previous_dialogues": len(case.previous_dialogues) if isinstance(case, Case) else 0,
        "place": case.place,
        "left_out": list(case.withheld),
    }


def settings_of(scenario: str | ScenarioObject, mechanisms: Collection[str] | None = None) -> dict[str, Any]:
    """Return the parameters that a scenario sets, for `Parameters.with_settings`; none for towns and runs.

    Those of a meeting are `GROUP_CHAT` with the settings of its file over it; those of a population are `ALBUM_CHAT`.

    Args:
        mechanisms: As for `resolve`.

    Raises:
        NotFoundError: There is no such file.
        ScenarioError: It can't be read.
    """
    if isinstance(scenario, ScenarioObject):
        return scenario.settings()
    if scenario in POPULATIONS:
        return dict(POPULATIONS[scenario])
    path = _file_of(scenario)
    return {} if path is None else read_scenario_file(path, mechanisms).settings()


def extensions_of(scenario: str | ScenarioObject) -> tuple[str, ...]:
    """Return files (absolute paths) and entry points of a scenario's extensions; errors as for `settings_of`."""
    if isinstance(scenario, ScenarioObject):
        return scenario.extensions()
    path = _file_of(scenario)
    if path is None:
        return ()
    return tuple(extension_source(source, path.parent) for source in read_scenario_file(path).extensions)


def file_of(scenario: str, folder: Path = Path()) -> Path | None:
    """Return the file or log folder of a scenario, with or without `:all`; `None` for a shipped scenario."""
    prefix, path, _ = _parts_of(scenario)
    at = folder / os.path.expanduser(path)
    return at if prefix or _is_file(path) or (path not in SHIPPED and at.is_file()) else None


def named_from_here(scenario: str, folder: Path) -> str:
    """Return a scenario that a file in a folder names as it is named from the current folder."""
    if file_of(scenario, folder) is None:
        return scenario
    prefix, path, case = _parts_of(scenario)
    return f"{prefix}{path_from_here(path, folder)}{case}"


def path_from_here(path: str, folder: Path) -> str:
    """Return a path that a file in a folder names: relative to the current folder if it lies in that."""
    if os.path.isabs(os.path.expanduser(path)):
        return path
    at = Path(os.path.abspath(folder / path))
    return str(at.relative_to(Path.cwd()) if at.is_relative_to(Path.cwd()) else at)


def _parts_of(scenario: str) -> tuple[str, str, str]:
    """Return `ga:` or nothing, the name or path, and `:all`, the number of a case, or nothing."""
    prefix = "ga:" if scenario.startswith("ga:") else ""
    named = scenario.removeprefix(prefix)
    if not prefix and not named.endswith(":all"):
        return "", named, ""
    found = re.fullmatch(r"(.+?)((?::[0-9]{1,9})?(?::all)?)", named, re.DOTALL)
    return (prefix, found[1], found[2]) if found else (prefix, named, "")


def sample_evenly(cases: Sequence[T], count: int) -> list[T]:
    """Return `count` of the cases, evenly spaced: the middle case of each of `count` equal stretches.

    Returns all cases if there are no more than `count`. Source: APP §2, "Data", which leaves the place in a stretch
    open.

    Raises:
        UsageError: `count` is below 1.
    """
    if count < 1:
        raise UsageError(f"can't sample {count} cases; ask for 1 or more")
    if count >= len(cases):
        return list(cases)
    return [cases[(2 * stretch + 1) * len(cases) // (2 * count)] for stretch in range(count)]


def _open(
    scenario: str, mechanisms: Collection[str] | None
) -> tuple[Log | TwoPartyScenario | MeetingScenario, int | None]:
    if scenario in MEETINGS:
        return read_scenario_file(MEETINGS[scenario], mechanisms), None
    if _is_file(scenario):
        return read_scenario_file(Path(scenario).expanduser(), mechanisms), None
    if scenario.startswith(PREFIX):
        name = scenario.removeprefix(PREFIX)
        raise NotFoundError(
            f"the scenario {name!r} was an object in Python, and is in no file; write it to one, with "
            f"write('{name}.yaml'), and name that; or fork a run of it"
        )
    name, number = _split_case(scenario)
    if scenario.startswith("ga:"):
        folder = name.removeprefix("ga:")
        if not folder:
            raise ScenarioError(f"{scenario!r} names no folder; write ga:FOLDER or ga:FOLDER:CASE")
        return read_log(Path(folder).expanduser()), number
    if name in TOWNS:
        return read_log(TOWNS[name]), number
    town, colon, case = scenario.partition(":")
    if town in TOWNS and colon:
        raise ScenarioError(f"{scenario!r}: {case!r} is not the number of a case; write {town}:0, for example")
    if town in (*MEETINGS, *POPULATIONS) and colon:
        kind = "meeting" if town in MEETINGS else "population"
        raise ScenarioError(f"{scenario!r}: a {kind} is a single case; write {town}")
    if os.path.isdir(scenario):
        raise NotFoundError(f"unknown scenario {scenario!r}; for a Generative Agents run write ga:{scenario}")
    if re.fullmatch(r"[0-9.,]+", scenario):
        raise NotFoundError(f"unknown scenario {scenario!r}; several values of λ have commas between them: 0,0.5,1")
    known = f" (known: {', '.join(SHIPPED)}); give a shipped name, a YAML file, or ga:FOLDER:CASE"
    raise NotFoundError(f"unknown scenario {scenario!r}{nearest_hint(name, SHIPPED, otherwise=known)}")


def _file_of(scenario: str) -> Path | None:
    return MEETINGS.get(scenario) or (Path(scenario).expanduser() if _is_file(scenario) else None)


def _is_file(scenario: str) -> bool:
    if scenario.startswith(("ga:", PREFIX)) or scenario in SHIPPED:
        return False
    return scenario.endswith(FILE_ENDINGS) or os.path.isfile(scenario)


def _split_case(scenario: str) -> tuple[str, int | None]:
    found = re.fullmatch(r"(.+):([0-9]{1,9})", scenario, re.DOTALL)
    return (found[1], int(found[2])) if found else (scenario, None)


def _default_case(scenario: str, log: Log) -> int:
    return 0 if scenario.startswith("ga:") else len(log.dialogues) - 1
