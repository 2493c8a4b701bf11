"""What every driver is given, and what it reports: the standard library alone, for it runs in every environment.

A driver is started as `python -m benchmarks.peers.drivers.NAME FILE`. The file holds a `Conversation` as JSON; the last
line of standard output is a `Report` as JSON.
"""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Person:
    """Somebody who takes part: a line about them, all that is known of them, what they want, what they remember."""

    name: str
    summary: str
    persona: str
    goal: str
    memories: tuple[str, ...]


@dataclass(frozen=True)
class Conversation:
    """What is held, and where.

    Attributes:
        scenario: What Tertulia calls it.
        situation: Where and why they meet.
        opening: Speaker and text of a line that stands before the first turn; `None`: the first person begins.
        turns: How many utterances the model makes.
        address, model: The server, up to `/v1`, and who is served.
        folder: Where the system keeps what it keeps.
        resumes: Whether to go on with what lies in the folder.
        options: What distinguishes two ways of one system, such as the speaking order.
    """

    scenario: str
    situation: str
    people: tuple[Person, ...]
    opening: tuple[str, str] | None
    turns: int
    address: str
    model: str
    folder: str
    resumes: bool = False
    options: dict[str, str] = field(default_factory=dict)

    @property
    def is_meeting(self) -> bool:
        """Whether more than two take part."""
        return len(self.people) > 2

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)

    def dumps(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, text: str) -> "Conversation":
        """Return what `dumps` wrote."""
        fields = json.loads(text)
        people = tuple(Person(**{**person, "memories": tuple(person["memories"])}) for person in fields.pop("people"))
        opening = fields.pop("opening")
        return cls(people=people, opening=opening and (opening[0], opening[1]), **fields)


@dataclass(frozen=True)
class Report:
    """What a driver measured.

    Attributes:
        turns: Speaker and text of all utterances of models, those from before a resumption too.
        kept: How many of them were there when this process began.
        wall_s, cpu_s: Time of an utterance: the median, so that what is loaded within one of them does not count.
        other_cpu_s: CPU time of all else: imports, loading, and what the first utterances take besides.
        peak_mb: Most memory that the process held.
    """

    turns: tuple[tuple[str, str], ...]
    kept: int
    wall_s: float
    cpu_s: float
    other_cpu_s: float
    peak_mb: float


class Stopwatch:
    """Started when the conversation begins; is told of every utterance, and prints the report at the end."""

    def __init__(self) -> None:
        self._times = [(time.perf_counter(), time.process_time())]

    def spoken(self) -> None:
        """Note that an utterance is there."""
        self._times.append((time.perf_counter(), time.process_time()))

    def report(self, turns: Sequence[tuple[str, str]], kept: int = 0, at_once: bool = False) -> None:
        """Print the report of all turns as the last line of standard output; `at_once`: one answer held them all."""
        if at_once:
            self.spoken()
        laps = [(wall - before, cpu - start) for (before, start), (wall, cpu) in pairwise(self._times)]
        shared = len(turns) if at_once else 1
        wall_s, cpu_s = (median(lap[at] for lap in laps) / shared if laps else 0.0 for at in (0, 1))
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        peak_mb = int(status.partition("VmHWM:")[2].split()[0]) / 1024
        other_cpu_s = time.process_time() - cpu_s * len(laps) * shared
        print(json.dumps(asdict(Report(tuple(turns), kept, wall_s, cpu_s, other_cpu_s, peak_mb))))


def given() -> Conversation:
    """Return the conversation that the command line names."""
    return Conversation.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
