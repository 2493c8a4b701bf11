"""What was expected of the next line: entropy, and KL(full ‖ pruned) of the opening prompts, from stored runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import pytest
from support.experiment_case import drive_here, rehearsed
from support.on_use import on_use
from support.tiny import save_tiny

from tertulia.lab.annotations.next_line import spoken_lines
from tertulia.lab.experiments.experiment import Experiment, checked
from tertulia.lab.experiments.results import Results, read_results
from tertulia.lab.pages.page_markdown import markdown
from tertulia.lab.reports.provenance import Provenance
from tertulia.lab.reports.report import Findings, report_of_experiment
from tertulia.lab.reports.report_making import Measurers, make_report
from tertulia.lab.reports.report_page import report_page
from tertulia.models.loading import open_model, rehearsal_of
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.nodes.utterance.requests import utterance_request
from tertulia.prompts.remove import remove_units
from tertulia.state.language_model import LanguageModel, RenderedPrompt
from tertulia.state.parameters import Parameters
from tertulia.state.questions import TokenFigures
from tertulia.state.records import ParticipantModel, RunRecord
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.store import SqlStore

causal = on_use("tertulia.models.local.causal")
torch = on_use("torch")
transformers = on_use("transformers")

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
METRICS = ("entropy", "divergence", "entropy@1", "divergence@1")
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
def model(folder: str) -> causal.CausalLanguageModel:
    opened = open_model(folder, precision="float32", cache=Path(folder))
    assert isinstance(opened, causal.CausalLanguageModel)
    return opened


@pytest.fixture(scope="module")
def store(folder: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    there = tmp_path_factory.mktemp("store")
    with SqlStore.open(there / "tertulia.db", create=True) as opened:
        drive_here(opened, an_experiment(folder, there))
        yield opened


@pytest.fixture(scope="module")
def results(store: SqlStore) -> Results:
    found = read_results(store, "next")
    assert len(found.runs) == 8
    return found


def made(
    store: SqlStore,
    results: Results,
    speaker: Callable[[], LanguageModel],
    baseline: str = "Full",
    metrics: Sequence[str] = METRICS,
) -> Findings:
    report = report_of_experiment(results.experiment, baseline, metrics)
    measurers = Measurers(RehearsalEmbedder, None, speaker)
    return make_report(store, report, results, measurers, Provenance(("x",)))[0]


@pytest.fixture(scope="module")
def found(store: SqlStore, results: Results, model: causal.CausalLanguageModel) -> Findings:
    return made(store, results, lambda: model)


def refuses() -> LanguageModel:
    raise AssertionError("the model was opened")


def answered(store: SqlStore, run: RunRecord, turn: int, model: LanguageModel) -> list[int]:
    """Return the tokens of the prompt that a turn answered."""
    record = store.turn_record(run.run, turn)
    pruned = remove_units(store.prompt(str(record.prompt)), record.removed)
    request = utterance_request(pruned, (), model.tokenizer, Parameters.model_validate(run.parameters))
    return list(request.prompt.input_ids)


def line_of(store: SqlStore, run: RunRecord, turn: int) -> tuple[list[int], int]:
    """Return the tokens of what was said up to the end of the text, and where the text begins."""
    chosen = store.turn_record(run.run, turn).chosen
    (reply,) = (each.reply for each in store.candidates(run.run, turn) if each.attempt == chosen)
    first, past_last = reply.text_tokens
    return list(reply.tokens[:past_last]), first


def logs_of(whole: transformers.PreTrainedModel, prompt: list[int], line: tuple[list[int], int]) -> torch.Tensor:
    """Return the log-probabilities at the tokens of a text, from one reading by the model of transformers alone."""
    tokens, first = line
    with torch.inference_mode():
        logits = whole(torch.tensor([prompt + tokens])).logits[0]
    return logits[len(prompt) + first - 1 : -1].double().log_softmax(-1)


def test_a_report_has_the_figures_of_a_direct_computation(
    store: SqlStore, results: Results, found: Findings, model: causal.CausalLanguageModel, folder: str
) -> None:
    whole = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    runs = {(trial.setting, trial.trial): trial.run for trial in results.runs}
    for setting in ("Full", "Half"):
        entropies: dict[int, list[float]] = {1: [], 2: []}
        divergences = []
        for trial in (1, 2):
            run, full = runs[setting, trial], runs["Full", trial]
            for turn, of_turn in entropies.items():
                logs = logs_of(whole, answered(store, run, turn, model), line_of(store, run, turn))
                of_turn.append(float(-(logs.exp() * logs).sum(-1).mean()))
            line = line_of(store, full, 1)
            first, second = (logs_of(whole, answered(store, each, 1, model), line) for each in (full, run))
            divergences.append(float((first.exp() * (first - second)).sum(-1).mean()))
        figures = {
            metric: sample[results.experiment.cases[0]].value for metric, sample in found.figures[setting].items()
        }
        assert figures["entropy"] == pytest.approx(fmean(entropies[1] + entropies[2]), abs=1e-5)
        assert figures["entropy@1"] == pytest.approx(fmean(entropies[2]), abs=1e-5)
        if setting != "Full":
            assert figures["divergence"] == pytest.approx(fmean(divergences), abs=1e-5)
            assert figures["divergence"] > 0.001


def test_the_baseline_has_no_divergence_a_setting_with_its_prompt_has_0_and_later_lines_have_none(
    found: Findings,
) -> None:
    figures = {setting: {*metrics} for setting, metrics in found.figures.items()}
    assert figures["Full"] == {"entropy", "entropy@1"}
    assert figures["As full"] == figures["Half"] == figures["RMm"] == {"entropy", "entropy@1", "divergence"}
    (same,) = found.figures["As full"]["divergence"].values()
    assert (same.value, same.trials, set(same.without.values())) == (0.0, 2, {0.0})
    assert found.difference("Half", "divergence") is None, "a difference to 0 that can't be negative decides nothing"
    assert found.mean("Half", "divergence").cases == 1
    assert found.skipped == {}


def test_what_was_measured_is_kept_and_not_measured_again(
    store: SqlStore, results: Results, found: Findings, model: causal.CausalLanguageModel
) -> None:
    assert made(store, results, refuses).figures == found.figures
    other = made(store, results, lambda: model, "RMm")
    assert "divergence" in other.figures["Full"]
    assert "divergence" not in other.figures["RMm"]
    assert made(store, results, refuses).figures == found.figures, "figures of two baselines stand side by side"
    run = results.of("Half")[results.experiment.cases[0]][0].run
    kept = Annotations(store.file).of(run.run, "next_line")
    assert {annotation.model for annotation in kept} == {f"{run.model} in float32"}
    assert sorted((each.part, each.first) for each in kept) == [(0, 1), (0, 2), (1, 1), (1, 1)]
    assert all(annotation.prompt_tokens > 100 and annotation.reply_tokens > 1 for annotation in kept)


def test_equal_prompts_are_read_once_with_all_lines_behind_them(
    store: SqlStore,
    results: Results,
    found: Findings,
    model: causal.CausalLanguageModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[RenderedPrompt, RenderedPrompt | None, int]] = []

    async def watched(
        prompt: RenderedPrompt, responses: list[tuple[int, ...]], other: RenderedPrompt | None = None
    ) -> list[TokenFigures]:
        asked.append((prompt, other, len(responses)))
        return [TokenFigures((0.0,) * len(r), (1.0,) * len(r), (0.0,) * len(r), (2.0,) * len(r)) for r in responses]

    monkeypatch.setattr(model, "token_figures", watched)
    monkeypatch.setattr("tertulia.lab.annotations.next_line._kept", lambda *_: {})
    monkeypatch.setattr("tertulia.lab.annotations.next_line._keep", lambda *_: None)
    measured = made(store, results, lambda: model)
    distinct = {(p.input_ids, None if other is None else other.input_ids) for p, other, _ in asked}
    assert len(distinct) == len(asked)
    assert sum(number for *_, number in asked) == 8 * 2 + 3 * 2
    assert max(number for *_, number in asked) == 4, "the openings of both settings with the full prompt"
    assert {sample.value for sample in measured.figures["Half"]["divergence"].values()} == {2.0}
    asked.clear()
    measured = made(store, results, lambda: model, metrics=["entropy@0", "divergence"])
    assert sum(number for *_, number in asked) == 8 + 3 * 2, "the openings alone"
    assert {*measured.figures["Half"]} == {"entropy@0", "divergence"}
    asked.clear()
    made(store, results, lambda: model, metrics=["entropy@1"])
    assert (sum(number for *_, number in asked), {other for _, other, _ in asked}) == (8, {None})


def test_a_line_of_another_model_and_an_album_have_no_figure(store: SqlStore, results: Results) -> None:
    run = results.runs[0].run
    others = ParticipantModel(model="another", parameters=run.parameters)
    assert [line is None for line in spoken_lines(store, run)] == [False, False]
    by_two = run.model_copy(update={"participant_models": {"Bo": others}})
    assert [line is None for line in spoken_lines(store, by_two)] == [False, True]
    assert spoken_lines(store, run.model_copy(update={"kind": "album_chat"})) == []


def test_the_rehearsal_is_skipped_in_words(tmp_path: Path) -> None:
    with SqlStore.open(tmp_path / "rehearsed.db", create=True) as store:
        results = rehearsed(store, an_experiment("rehearsal", tmp_path))
        findings = made(store, results, lambda: rehearsal_of("rehearsal"))
        assert findings.figures == {setting: {} for setting in SETTINGS}
        assert {*findings.skipped} == {"entropy", "divergence", "entropy@1", "divergence@1"}
        text = "\n".join(markdown(report_page(findings), {}))
        assert "Not measured: entropy of the next line, KL(full ‖ pruned)" in text
        assert ", as rehearsal does not show its next-token distribution" in text
