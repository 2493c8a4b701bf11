"""The questions and methods of an experiment, written down before its first trial, and later departures from them.

A plan is YAML that a person can read, with a digest by which it can be named elsewhere. It is stored with the
experiment when that begins, and never changed: an experiment may grow, and its report names the unplanned parts.
"""

import hashlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import yaml

from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.sources import source_of
from tertulia.state.text import counted

#: How the orderings of a report are tested; a report that is tested otherwise departs from its plan.
TESTS = (
    "Student's t over cases, over their sources where there are several (CR2); two-sided, 5 %, Holm over the primary "
    "orderings and over the others; above a control that shows an ordering as well"
)

#: Fields that may be other than planned, and their names in a report.
_COMPARED = {
    "model": "the model",
    "cases": "cases",
    "settings": "settings",
    "trials": "trials",
    "rounds": "rounds",
    "seed": "the first seed",
    "baseline": "the baseline",
    "primary": "the primary outcome",
    "orderings": "orderings",
    "tests": "how orderings are tested",
    "tertulia": "the version of this program",
}


def plan_of(experiment: Experiment, more: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Return the plan of an experiment as YAML, with its orderings, tests and power."""
    sources = len({source_of(case) for case in experiment.cases})
    planned = {
        "experiment": experiment.name,
        "question": experiment.description,
        "model": experiment.model,
        "cases": list(experiment.cases),
        "sources": sources,
        "settings": {name: dict(values) for name, values in experiment.settings.items()},
        "trials": experiment.trials,
        "rounds": experiment.rounds,
        "seed": experiment.seed,
        "baseline": experiment.compared_with,
        **more,
    }
    return yaml.safe_dump(planned, sort_keys=False, allow_unicode=True, width=100)


def plan_digest(plan: str) -> str:
    """Return the digest of a plan, 12 hexadecimal digits of its text."""
    return hashlib.blake2b(plan.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def departures(planned: str, now: str) -> list[str]:
    """Return the departures of an experiment from the plan before its first trial, a clause each.

    Args:
        planned: The stored plan; empty if none is stored.
        now: The plan of today.
    """
    if not planned:
        return ["no plan of it is stored"]
    before, after = yaml.safe_load(planned), yaml.safe_load(now)
    if not isinstance(before, dict):
        return ["its stored plan can't be read"]
    compared = ((what, before[key], after.get(key)) for key, what in _COMPARED.items() if key in before)
    return [clause for each in compared for clause in _departure(*each)]


def _departure(what: str, before: Any, after: Any) -> Iterator[str]:
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        changed = [name for name in before if name in after and before[name] != after[name]]
        yield from _in_words(what, [*before], [*after], changed)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _in_words(what, before, after, [])
    else:
        yield f"{what}: planned {_shown(before)}, now {_shown(after)}"


def _in_words(what: str, before: list[Any], after: list[Any], changed: list[Any]) -> Iterator[str]:
    added, left_out = [each for each in after if each not in before], [each for each in before if each not in after]
    for names, how in ((added, "not planned"), (left_out, "planned and left out"), (changed, "changed")):
        if names:
            listed = ", ".join(map(str, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            yield f"{what} {how}: {listed}"


def _shown(value: Any) -> str:
    return "nothing" if value is None else str(value)


def size_phrase(experiment: Experiment) -> str:
    """Return how many cases of how many sources an experiment has, and the meaning of that for its verdicts."""
    sources = len({source_of(case) for case in experiment.cases})
    cases = counted(len(experiment.cases), "case")
    if sources == 1:
        return f"{cases} of one source: verdicts hold for it, and say nothing of another"
    few = "; of so few sources hardly anything is decided" if sources < 4 else ""
    return f"{cases} of {sources} sources, over which verdicts are{few}"
