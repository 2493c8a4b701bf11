"""`scenarios check`: the kind and limits of a scenario, the people that come to speak, and events that never happen."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tertulia.nodes.meeting.willingness import Reach, reach_of
from tertulia.runs.planning.meeting_check import warnings_of
from tertulia.runs.planning.prompt_language import notes_on_language, notes_on_texts
from tertulia.runs.planning.request import RunRequest
from tertulia.state.album import Population
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import Parameters
from tertulia.state.text import counted


@dataclass(frozen=True)
class Checked:
    """A scenario that can be run.

    Attributes:
        reach: When each participant of a meeting comes to speak; empty for other kinds.
        warnings: Problems that do not prevent a run.
    """

    start: Start
    parameters: Parameters
    reach: tuple[Reach, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """Its description, in a sentence."""
        rounds, pruned = f"{self.parameters.max_turns} rounds", f"λ = {self.parameters.removal_factor:g}"
        if isinstance(self.start, Population):
            least, *_, most = sorted(len(villager.album) for villager in self.start.villagers)
            pictures = f"{most} pictures" if least == most else f"{least} to {most} pictures"
            return (
                f"an album chat: {len(self.start.villagers)} villagers with {pictures} each, at most {rounds}, {pruned}"
            )
        if isinstance(self.start, Meeting):
            return f"a meeting: {counted(len(self.start.names), 'participant')}, at most {rounds}, {pruned}"
        known = ", ".join(f"{name}: {len(self.start.participant(name).memories)}" for name in self.start.names)
        limits = f"at most {self.parameters.max_turns} turns, {pruned}"
        return f"a dialogue of two, who speak in turn (memories: {known}), {limits}"

    def document(self) -> Document:
        """Return the findings, as JSON."""
        people: list[Document] = [{"agent": name} for name in self.start.names]
        if isinstance(self.start, Meeting):
            people = [_person(self.start, person) for person in self.reach]
        return {
            "schema_version": SCHEMA_VERSION,
            "scenario": self.start.scenario,
            "kind": self.start.kind,
            "summary": self.summary,
            "people": people,
            "warnings": list(self.warnings),
        }


def check_scenario(scenario: str, settings: Mapping[str, Any]) -> Checked:
    """Return a scenario, with the conditions under which the participants of a meeting come to speak, and warnings.

    Args:
        scenario: A shipped name, a YAML file, a file of villagers, or `ga:FOLDER`.
        settings: Parameters by name, over those of the scenario.

    Raises:
        NotFoundError: There is none.
        ScenarioError: It can't be read, or nobody can ever speak.
    """
    from tertulia.runs.planning.starting import plan_run
    from tertulia.worlds.villagers_file import is_villagers_file

    if is_villagers_file(Path(scenario)):
        scenario, settings = "villagers", {"villagers": str(Path(scenario).absolute()), **settings}
    plan = plan_run(scenario, RunRequest(settings, model="rehearsal"))
    language = plan.parameters.language
    notes = (*notes_on_language(language), *notes_on_texts(plan.start, language))
    if not isinstance(plan.start, Meeting):
        return Checked(plan.start, plan.parameters, warnings=notes)
    reach = reach_of(plan.start, plan.parameters)
    return Checked(plan.start, plan.parameters, reach, (*notes, *warnings_of(plan.start, plan.parameters)))


def _person(meeting: Meeting, person: Reach) -> Document:
    return {
        "agent": person.agent,
        "weights": meeting.participant(person.agent).weights.model_dump(),
        "highest": person.highest,
        "threshold": person.threshold,
        "never": person.is_never,
        "when_asked": person.is_asked_enough,
        "after_quiet_rounds": person.rounds,
    }
