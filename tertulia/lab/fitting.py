"""Learn weights of a model's attention heads from ablations of its own lines: `tertulia scores fit`.

1. The model holds dialogues of two as it always does: in one half with whole prompts, in the other half without a
   share of their units, drawn at random, as a line is read behind a pruned prompt too.
2. Lines are drawn evenly over the cases, and read after random ablations of their prompts, and by head
   (`tertulia/lab/annotations/ablations.py`).
3. Weights are learned from all lines (`metrics/faithfulness.py`). A report tests weights that were learned without the
   source of a line, beside Eq. 1, attention beyond a neutral reply's, length and chance.
4. The same tests tell the worth of an estimate: the real loss of a line without its highest unit. It gives the weights
   their scale, and their floor.

All of it is kept in a store beside the weights: after Ctrl-C or a kill the same command goes on.

Source: Cohen-Wang et al. 2025, arXiv 2504.13752 (AT2).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tertulia.lab.annotations.ablations import AblationFigures
from tertulia.lab.experiments.experiment import Experiment, checked
from tertulia.lab.experiments.reached import progress_of
from tertulia.lab.experiments.running import InProcessExecutor, run_experiment
from tertulia.lab.experiments.sources import source_of
from tertulia.lab.faithfulness import Faithfulness, chosen_lines, lines_phrase, measure_faithfulness
from tertulia.lab.reports.provenance import hardware
from tertulia.lab.reports.report_tables import interval_of
from tertulia.metrics.faithfulness import calibrated
from tertulia.models.local.head_weights import kept_in
from tertulia.models.local.platforms import platform_of
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import Event, RunEnded
from tertulia.state.errors import ModelError, UsageError
from tertulia.state.head_weights import HeadWeights
from tertulia.state.language_model import LanguageModel
from tertulia.state.parameters import Parameters
from tertulia.state.questions import HeadAttentionModel
from tertulia.state.scored_layers import layers_to_score
from tertulia.state.written_files import write_text
from tertulia.storage.store import SqlStore
from tertulia.worlds.scenes import DialogueScene, read_scenes, shipped_scenes

#: Scorers that the report has, the learned one first.
SCORERS = ("at2", "attention_of_line", "beyond_neutral", "length", "random")

#: The file of shipped scenes whose last no voice was taught, and which of them are cases of a fit: none is a case of
#: `benchmarks/cases/`, which test the learned weights.
_SCENES, _CASES = "plain_8.jsonl", slice(90, 118)

#: Dialogues by half: with the whole prompt, and with half of it removed at random.
_SETTINGS: Mapping[str, dict[str, Any]] = {
    "whole": {"removal_factor": 0.0, "revision": "off", "ending": "off"},
    "half": {"removal_factor": 0.5, "nodes.score": "random", "revision": "off", "ending": "off"},
}

#: The name of the experiment in the store of a fit.
_EXPERIMENT = "fit"


@dataclass(frozen=True)
class FitPlan:
    """The lines that weights are learned from.

    Attributes:
        cases: Scenarios of two, as `tertulia run` takes them; none: scenes that are shipped for it.
        lines: How many lines, evenly over sources and cases.
        ablations: Random ablations of each line.
        rounds: Utterances of each dialogue.
    """

    model: str
    cases: tuple[str, ...] = ()
    lines: int = 84
    ablations: int = 24
    rounds: int = 4


@dataclass(frozen=True)
class Fit:
    """Learned weights, and the results of tests on other sources."""

    weights: HeadWeights
    report: Faithfulness = field(repr=False)


def fit_head_weights(plan: FitPlan, access: ModelAccess, show: Callable[[str], object] = str) -> Fit:
    """Return weights of heads for a model, and their test; finished steps are kept, and not done again.

    Raises:
        UsageError: The model shows no attention heads, or the cases are of one source.
        AttentionUnavailableError: None of its layers sees a whole prompt.
        ModelError: Nothing that was removed moved its lines.
    """
    access = access.naming([plan.model]).keeping_models()
    model = access.language_model(plan.model, Parameters())
    if not isinstance(model, HeadAttentionModel) or (fingerprint := getattr(model, "fingerprint", None)) is None:
        raise UsageError(f"{plan.model} shows no attention heads: weights are learned for models of this machine alone")
    layers_to_score("auto", model, 1024)
    folder = kept_in(access.cache) / fingerprint
    folder.mkdir(parents=True, exist_ok=True)
    cases = plan.cases or _shipped_cases(folder)
    if len({source_of(case) for case in cases}) < 2:
        raise UsageError(
            f"the cases ({', '.join(cases)}) are of one source, and weights are tested on sources that they were not "
            "learned from; name cases of two or more, or none"
        )
    with SqlStore.open(folder / "store.db", create=True) as store:
        _hold_dialogues(store, plan, cases, access, show)
        lines = chosen_lines(store, [_EXPERIMENT], "all", plan.lines)
        figures = AblationFigures(store, plan.model, lambda: (model, access.embedder("minilm")))
        found = measure_faithfulness(figures, lines, plan.ablations, SCORERS, show, tops=(1,))
    return Fit(_weights_of(found, plan, model, fingerprint), found)


def _hold_dialogues(
    store: SqlStore, plan: FitPlan, cases: Sequence[str], access: ModelAccess, show: Callable[[str], object]
) -> None:
    """Hold the dialogues of a fit that the store does not have."""
    experiment = Experiment(
        name=_EXPERIMENT,
        cases=tuple(cases),
        settings={name: dict(setting) for name, setting in _SETTINGS.items()},
        trials=1,
        rounds=plan.rounds,
        model=plan.model,
    )
    experiment = checked(experiment, (), store)
    ended = len(cases) * len(_SETTINGS) - progress_of(store, experiment).missing

    def emit(event: Event) -> None:
        nonlocal ended
        if isinstance(event, RunEnded):
            ended += 1
            show(f"dialogue {ended} of {len(cases) * len(_SETTINGS)}")

    run_experiment(store, experiment, InProcessExecutor(store, access), emit)


def _shipped_cases(folder: Path) -> tuple[str, ...]:
    """Write scenario files of shipped scenes, and return their names."""
    scenes = read_scenes([shipped_scenes() / _SCENES])[_CASES]
    return tuple(str(_scenario_file(folder, scene)) for scene in scenes if isinstance(scene, DialogueScene))


def _scenario_file(folder: Path, scene: DialogueScene) -> Path:
    name = re.sub(r"[^a-z0-9]+", "_", (scene.place or "scene").lower()).strip("_")[:40]
    people = sorted(scene.people, key=lambda person: person.name != scene.lines[0][0])
    document = {
        "name": name.replace("_", " "),
        "time": scene.began.isoformat(sep=" "),
        "place": scene.place,
        "participants": [person.model_dump(mode="json", exclude_none=True) for person in people],
    }
    file = folder / f"{name}.yaml"
    write_text(file, yaml.safe_dump(document, allow_unicode=True, sort_keys=False))
    return file


def _weights_of(found: Faithfulness, plan: FitPlan, model: LanguageModel, fingerprint: str) -> HeadWeights:
    learned = found.weights
    if learned is None or not learned.weights.any():
        raise ModelError(
            f"nothing that was removed from the prompts of {lines_phrase(found)} moved what {plan.model} says: nothing "
            "can be learned from them; name other cases"
        )
    tested = [line.by_scorer["at2"] for line in found.lines]
    gain, floor = calibrated([each["highest"] or 0.0 for each in tested], [each["drop1"] or 0.0 for each in tested])
    by_layer = (learned.weights * gain).reshape(found.layers, -1)
    platform = platform_of([model])
    return HeadWeights(
        model=plan.model,
        fingerprint=fingerprint,
        weights=tuple(tuple(float(f"{weight:.4g}") for weight in heads) for heads in by_layer.tolist()),
        floor=float(f"{floor:.4g}"),
        about={
            "lines": len(found.lines),
            "cases": len({line.line.case for line in found.lines}),
            "sources": len({line.source for line in found.lines}),
            "ablations": found.ablations,
            "penalty": learned.penalty,
            "lds_on_other_sources": {scorer: _lds_of(found, scorer) for scorer in found.scorers},
            "computed_on": hardware() if platform is None else platform.phrase(),
        },
    )


def _lds_of(found: Faithfulness, scorer: str) -> list[float | None]:
    """Return mean and 95 % interval of a scorer's LDS."""
    mean = found.mean(scorer, "lds")
    ends = interval_of(mean) or (None, None)
    return [None if value is None else round(value, 3) for value in (mean.value, *ends)]
