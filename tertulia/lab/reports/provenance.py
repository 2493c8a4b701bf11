"""The origin of a report: the command, the installed packages, the machine, and the cost of its runs."""

import os
import platform
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tertulia.lab.executors.local import usable_cores
from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.results import Results, TrialRun
from tertulia.metrics.cost import Cost, cost_by, total
from tertulia.models.served.chat_names import is_chat_name
from tertulia.state.language_model import REHEARSAL
from tertulia.state.records import Platform
from tertulia.state.store import Store
from tertulia.views.reading.platforms import STEP

#: Distributions that figures depend on.
_DISTRIBUTIONS = (
    "tertulia",
    "torch",
    "transformers",
    "sentence-transformers",
    "numpy",
    "scipy",
    "pandas",
    "matplotlib",
)

#: Conversations that a command ran, and its wall-clock and CPU time in seconds.
Spent = tuple[int, float, float]

_CPU_INFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Provenance:
    """The origin of a page, besides the experiment.

    Attributes:
        embedder, reader: The models that measure similarity and fluency; `None` if none does.
        device: That of the models, such as `cpu, float32`; `None` if none was loaded.
        new: Conversations that this command ran.
        wall_s, cpu_s: The time of that; `None` if it ran none.
    """

    commands: tuple[str, ...]
    embedder: str | None = None
    reader: str | None = None
    device: str | None = None
    new: int = 0
    wall_s: float | None = None
    cpu_s: float | None = None


@dataclass(frozen=True)
class SettingCost:
    """The calls, tokens and model time of the finished conversations of a setting."""

    runs: int
    utterances: int
    cost: Cost

    def __add__(self, other: "SettingCost") -> "SettingCost":
        return SettingCost(self.runs + other.runs, self.utterances + other.utterances, self.cost + other.cost)


def total_cost(costs: Iterable[SettingCost]) -> SettingCost:
    """Return the sum of the costs of settings."""
    return sum(costs, SettingCost(0, 0, Cost()))


def provenance_of(
    experiment: Experiment, command: str, embedder: str, reader: str | None, spent: Spent | None
) -> Provenance:
    """Return the provenance of a report that a command makes of an experiment, and its spending on running it."""
    from tertulia.runs.access.installation import device_and_precision

    is_elsewhere = experiment.model == REHEARSAL or is_chat_name(experiment.model)
    device = None if is_elsewhere or "torch" not in installed_versions() else ", ".join(device_and_precision())
    return Provenance((command,), embedder, reader, device, *(spent or ()))


def cost_by_setting(store: Store, runs: Iterable[TrialRun]) -> dict[str, SettingCost]:
    """Return the cost of each setting's conversations, from the journal of their calls."""
    costs: dict[str, SettingCost] = {}
    for found in runs:
        spent = SettingCost(1, len(found.dialogue), total(cost_by(store.calls(found.run.run), lambda _: ()).values()))
        costs[found.setting] = costs.get(found.setting, SettingCost(0, 0, Cost())) + spent
    return costs


def computed_on(store: Store, runs: Iterable[TrialRun]) -> Mapping[str, int]:
    """Return on which platforms the conversations were computed, in words, each with their number, most first.

    One that went on elsewhere counts for each; calls that were not recorded, or computed by a server, for none.
    """
    found = Counter(
        phrase
        for run in runs
        for phrase in {platform.phrase() for platform in store.steps(run.run.run, STEP, Platform).values()}
    )
    return dict(found.most_common())


def time_span(results: Results) -> tuple[datetime, datetime] | None:
    """Return when the first and the last of the finished runs began; `None` if there are none."""
    times = [found.run.created for found in results.runs]
    return (min(times), max(times)) if times else None


def installed_versions() -> Mapping[str, str]:
    """Return the versions of Python and of the distributions that figures depend on."""
    found = {"python": platform.python_version()}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def versions_phrase() -> str:
    """Return the installed versions as a list in words."""
    return ", ".join(f"{name} {version}" for name, version in installed_versions().items())


def hardware() -> str:
    """Return the machine that this is computed on: processor, cores that may be used, and memory."""
    parts = [_processor() or platform.machine(), f"{usable_cores()} cores"]
    if sys.platform == "linux":
        parts.append(f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB of memory")
    return ", ".join([*parts, platform.system()])


def _processor() -> str:
    try:
        lines = _CPU_INFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
