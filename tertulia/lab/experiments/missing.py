"""Which conversations of an experiment are missing, and how long they would take."""

from collections import Counter

from tertulia.lab.experiments.estimating import estimate_experiment
from tertulia.lab.experiments.progress import duration
from tertulia.lab.experiments.reached import Progress
from tertulia.state.text import counted
from tertulia.storage.store import SqlStore

#: Most settings that are named.
_NAMED = 8


def missing_phrase(store: SqlStore, reached: Progress) -> str:
    """Return which conversations are missing, by setting, and how long they would take.

    Raises:
        TertuliaError: A setting can't be run.
    """
    by_setting = Counter(setting for _, setting, _ in reached.left)
    named = [f"{setting}: {number}" for setting, number in by_setting.most_common(_NAMED)]
    named += [f"and {len(by_setting) - _NAMED} more settings"] if len(by_setting) > _NAMED else []
    found = estimate_experiment(store, reached)
    unknown = "how long they take is not known before the first"
    about = unknown if found.seconds is None else f"about {duration(found.seconds)}"
    return (
        f"{counted(found.trials, 'conversation')} of {found.of_trials} of {reached.experiment.name} missing "
        f"({', '.join(named)}); {counted(found.utterances, 'utterance')}, {about}"
    )
