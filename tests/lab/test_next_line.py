"""What was expected of the next line: entropy, and KL(full ‖ pruned) of the opening prompts, from stored runs."""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import torch
from support.experiment_case import drive_here, rehearsed
from support.tiny import save_tiny, tiny_language_model

from tertulia.lab.experiments.experiment import Experiment, checked
from tertulia.lab.experiments.results import Results, TrialRun, read_results
from tertulia.lab.pages.page_markdown import markdown
from tertulia.lab.reports.provenance import Provenance
from tertulia.lab.reports.report import Findings, report_of_experiment
from tertulia.lab.reports.report_making import Measurers, make_report
from tertulia.models.loading import open_model, rehearsal_of
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.nodes.utterance.generate import utterance_request
from tertulia.prompts.remove import remove_units
from tertulia.state.language_model import LanguageModel, RenderedPrompt
from tertulia.state.parameters import Parameters
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.store import SqlStore

CASE = """
name: the quay
time: 2025-02-11 08:15:00
participants:
  - {name: Ana, age: 30, activity: fishing, memories: [Ana lost a net at sea., Ana owes the baker ten pounds.]}
  - {name: Bo, age: 40, activity: baking, memories: [Bo found a net on the beach., Bo sold bread to Ana.]}
"""
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "Full": {"removal_factor": 0.0},
    "As full": {"removal_factor": 0.0, "temperature": 0.7},
    "Half": {"removal_factor": 0.5},
    "RMm": {"removed_blocks": "m", "removal_factor": 0.0},
}
COMMON = {"max_utterance_tokens": 8, "revision": "off", "judge": "off", "redraws": 0}


def an_experiment(model: str, folder: Path) -> Experiment:
    case = folder / "quay.yaml"
    case.write_text(CASE, encoding="utf-8")
    settings = {name: {**COMMON, "drafts": 1, **values} for name, values in SETTINGS.items()}
    known = {"name": "next", "model": model, "cases": (str(case),), "settings": settings, "trials": 2, "rounds": 2}
    return checked(Experiment.model_validate(known))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp("model")))


@pytest.fixture(scope="module")
def model(folder: str) -> CausalLanguageModel:
    opened = open_model(folder, precision="float32")
    assert isinstance(opened, CausalLanguageModel)
    return opened


@pytest.fixture(scope="module")
def store(folder: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    with SqlStore.open(tmp_path_factory.mktemp("store") / "tertulia.db", create=True) as opened:
        drive_here(opened, an_experiment(folder))
        yield opened


@pytest.fixture(scope="module")
def results(store: SqlStore) -> Results:
    found = read_results(store, "next")
    assert len(found.runs) == 8
    return found


def made(store: SqlStore, results: Results, speaker: Callable[[], LanguageModel], baseline: str = "Full") -> Findings:
    report = report_of_experiment(results.experiment, baseline, ["entropy", "divergence", "entropy@1", "divergence@1"])
    measurers = Measurers(RehearsalEmbedder, None, speaker)
    return make_report(store, report, results, measurers, Provenance(("x",)))[0]
