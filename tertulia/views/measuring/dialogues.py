"""Dialogues to measure and to export: of stored runs, and of the logs that cases come from."""

from typing import TYPE_CHECKING

from tertulia.state.errors import UsageError
from tertulia.state.records import Case, RunRecord
from tertulia.state.store import Store
from tertulia.views.reading.exchanges import spoken_turns

if TYPE_CHECKING:
    from tertulia.metrics.diversity import Dialogue

#: The mark after the name of a case whose dialogue was logged, not generated.
LOGGED = ", logged"


def dialogue_of_run(store: Store, run: RunRecord) -> "Dialogue":
    """Return the dialogue of a run (`spoken_in`).

    Raises:
        UsageError: Nobody speaks in it.
    """
    if spoken := spoken_in(store, run):
        return spoken
    raise UsageError(f"nobody speaks in run {run.run}; leave it out")


def spoken_in(store: Store, run: RunRecord, first: int = 1) -> "Dialogue":
    """Return the pairs of speaker and text of a run from a turn on, without silences.

    In an album chat each question is followed by its answer.
    """
    from tertulia.metrics.diversity import dialogue_of

    return dialogue_of(spoken_turns(store, run.run, store.start(run.run), first))


def logged_dialogues(source: str) -> "dict[str, tuple[Dialogue, Case]]":
    """Return the logged dialogues of a Generative Agents run or a shipped town, by scenario, each with its case.

    They are a baseline for conversations of these cases.

    Args:
        source: `ga:FOLDER`, or the name of a town; with `:N` its case N alone.

    Raises:
        NotFoundError: There is no such folder, town or case.
        ScenarioError: It can't be read, or it is no log: meetings and scenario files have no dialogues.
    """
    from tertulia.worlds.catalog import logged_cases

    return {
        scenario: ([(utterance.speaker, utterance.text) for utterance in utterances], case)
        for scenario, (case, utterances) in logged_cases(source).items()
    }


def logged_dialogue(case: str) -> "Dialogue":
    """Return the logged dialogue of one case (see `logged_dialogues`)."""
    from tertulia.worlds.catalog import logged_case

    return [(utterance.speaker, utterance.text) for utterance in logged_case(case)]


def is_log(given: str) -> bool:
    """Return whether an argument names logged dialogues: a Generative Agents run, a town, or a case of one."""
    from tertulia.worlds.catalog import TOWNS

    return given.startswith("ga:") or given.partition(":")[0] in TOWNS
