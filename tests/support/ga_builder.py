"""Small Generative Agents runs for tests, written to disk in the public format."""

import json
import shutil
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tertulia.state.records import Utterance

REAL_RUN = Path(__file__).parents[3] / "shared/data/generative_agents/July1_the_ville_isabella_maria_klaus-step-3-20"
DAY = "2023-02-13"


def real_run() -> Path:
    """The published run, where the machine has it."""
    if not REAL_RUN.is_dir():
        pytest.skip(f"the published Generative Agents run is not at {REAL_RUN}: not checked on real logs")
    return REAL_RUN


def node(type: str, at: str, text: str, subject: str, predicate: str, object: str, **more: Any) -> dict[str, Any]:
    """A node of a memory stream; `at` is a time of the day."""
    known = {"type": type, "created": f"{DAY} {at}", "subject": subject, "predicate": predicate, "object": object}
    return {**known, "description": text, "poignancy": 3, "filling": [], "depth": 0, "keywords": []} | more


def event(at: str, who: str, doing: str, **more: Any) -> dict[str, Any]:
    return node("event", at, f"{who} is {doing}", who, "is", doing, **more)


def sight(at: str, address: str, state: str = "tidy") -> dict[str, Any]:
    """An observation: people see only what is in their room."""
    return node("event", at, f"{address.rpartition(':')[2]} is {state}", address, "is", state)


def chat(at: str, who: str, whom: str, lines: Any, summary: str = "", **more: Any) -> dict[str, Any]:
    about = summary or f"conversing about {who}'s and {whom}'s affairs at {at}"
    return node("chat", at, about, who, "chat with", whom, filling=lines, **more)


class RunBuilder:
    """A run in the making: add nodes and steps, write it, spoil it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.streams: dict[str, list[dict[str, Any]]] = {}
        self.scratches: dict[str, dict[str, Any]] = {}
        self.movement: dict[str, dict[str, Any]] = {}

    def person(self, name: str, /, *nodes: dict[str, Any], **scratch: Any) -> "RunBuilder":
        self.streams.setdefault(name, []).extend(nodes)
        known = {"name": name, "age": 30, "innate": "calm", "currently": f"{name} knows how the day ended"}
        self.scratches[name] = self.scratches.get(name, known) | scratch
        return self

    def talk(self, at: str, subject: str, partner: str, lines: list[list[str]], summary: str = "") -> "RunBuilder":
        """A dialogue, recorded by both."""
        self.person(subject, chat(at, subject, partner, lines, summary))
        return self.person(partner, chat(at, partner, subject, lines, summary))

    def step(self, at: str, who: str, description: str, spoken: list[list[str]] | None = None) -> "RunBuilder":
        seconds = (datetime.fromisoformat(f"{DAY} {at}") - datetime.fromisoformat(DAY)) // timedelta(seconds=1)
        entry = {"movement": [1, 2], "pronunciatio": "", "description": description, "chat": spoken}
        self.movement.setdefault(str(seconds // 10), {})[who] = entry
        return self

    def file(self, name: str, which: str) -> Path:
        memory = self.folder / "personas" / name / "bootstrap_memory"
        return memory / ("associative_memory/nodes.json" if which == "nodes" else f"{which}.json")

    def write(self) -> Path:
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, nodes in self.streams.items():
            # As the original writes them: newest first, numbered from the oldest.
            ordered = sorted(nodes, key=lambda node: node["created"])
            numbered = {f"node_{number}": node for number, node in enumerate(ordered, start=1)}
            self._put(self.file(name, "nodes"), dict(reversed(numbered.items())))
            self._put(self.file(name, "scratch"), self.scratches[name])
        if self.movement:
            self._put(self.folder / "master_movement.json", self.movement)
            self._put(self.folder / "meta.json", {"start_date": "February 13, 2023", "sec_per_step": 10})
        return self.folder

    def _put(self, at: Path, value: Any) -> None:
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(json.dumps(value, indent=1), encoding="utf-8")


def as_storage(run: Path, to: Path, timed: bool = True) -> Path:
    """Copy a run to the form of `storage/`: `reverie/meta.json`, and a file for everybody at every step.

    Args:
        timed: Whether each step has its time, as the program writes it.
    """
    shutil.copytree(run / "personas", to / "personas")
    meta = json.loads((run / "meta.json").read_text(encoding="utf-8"))
    (to / "reverie").mkdir()
    (to / "reverie/meta.json").write_text(json.dumps(meta), encoding="utf-8")
    start, seconds = datetime.strptime(meta["start_date"], "%B %d, %Y"), meta["sec_per_step"]
    changes = json.loads((run / "master_movement.json").read_text(encoding="utf-8"))
    (to / "movement").mkdir()
    everybody: dict[str, Any] = {}
    for step in range(max(map(int, changes)) + 1):
        everybody |= changes.get(str(step), {})
        time = {"curr_time": f"{start + timedelta(seconds=step * seconds):%B %d, %Y, %H:%M:%S}"} if timed else {}
        written = json.dumps({"persona": everybody, "meta": time})
        (to / f"movement/{step}.json").write_text(written, encoding="utf-8")
    return to


def until(run: Path, moment: datetime, utterances: Sequence[Utterance], to: Path) -> Path:
    """Copy a run as it stood at a time: everything later is gone, except the records of a single dialogue."""
    shutil.copytree(run, to)
    lines = [[line.speaker, line.text] for line in utterances]
    for at in to.glob("personas/*/bootstrap_memory/associative_memory/nodes.json"):
        at.chmod(0o644)
        kept = {
            id: node
            for id, node in json.loads(at.read_text(encoding="utf-8")).items()
            if node["created"] < str(moment) or node["filling"] == lines
        }
        at.write_text(json.dumps(kept), encoding="utf-8")
    movement_at = to / "master_movement.json"
    meta = json.loads((to / "meta.json").read_text(encoding="utf-8"))
    start = datetime.strptime(meta["start_date"], "%B %d, %Y")
    steps = json.loads(movement_at.read_text(encoding="utf-8"))
    movement_at.chmod(0o644)
    kept_steps = {
        step: entries
        for step, entries in steps.items()
        if start + timedelta(seconds=int(step) * meta["sec_per_step"]) < moment
    }
    movement_at.write_text(json.dumps(kept_steps), encoding="utf-8")
    return to
