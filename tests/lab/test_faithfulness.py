"""`lab faithfulness` on a tiny model, and on one in which it is planted what a line depends on."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import Cli
from support.experiment_case import drive_here
from support.on_use import on_use
from support.tiny import save_tiny

from tertulia.lab.annotations.ablations import AblatedLine, AblationFigures
from tertulia.lab.experiments.experiment import Experiment, checked
from tertulia.lab.experiments.sources import source_of
from tertulia.lab.faithfulness import (
    SCORERS,
    Faithfulness,
    chosen_lines,
    measure_faithfulness,
    models_for,
    read_scorers,
)
from tertulia.metrics import faithfulness as figures_module
from tertulia.models.loading import open_model, rehearsal_of
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.nodes.utterance.requests import utterance_request
from tertulia.prompts.remove import remove_units
from tertulia.state.errors import ModelError, NotFoundError, SettingError, UsageError
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.store import SqlStore

altered_models = on_use("support.altered_models")
causal = on_use("tertulia.models.local.causal")

CASE = """
name: the quay
time: 2025-02-11 08:15:00
participants:
  - {{name: {0}, age: 30, activity: fishing, memories: [{0} lost a net., {0} owes ten pounds., {0} has a cat.]}}
  - {{name: {1}, age: 40, activity: baking, memories: [{1} found a net., {1} sold bread to {0}., {1} is tired.]}}
"""
NAMES = ("Ana", "Bo", "Cid", "Dee", "Eve", "Fay", "Gus", "Hal", "Ida", "Jo", "Kai", "Lea", "Mo", "Nia", "Oz", "Pam")
COMMON = {"max_utterance_tokens": 8, "revision": "off", "judge": "off", "redraws": 0, "drafts": 1}
SOURCES, ABLATIONS = 8, 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp("model")))


@pytest.fixture(scope="module")
def model(folder: str) -> causal.CausalLanguageModel:
    opened = open_model(folder, precision="float32", cache=Path(folder))
    assert isinstance(opened, causal.CausalLanguageModel)
    return opened


@pytest.fixture(scope="module")
def driven(folder: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with an experiment: eight cases, each a source, of two lines in a setting and in a pruned one."""
    there = tmp_path_factory.mktemp("store")
    cases = []
    for number in range(SOURCES):
        case = there / f"quay{number}.yaml"
        case.write_text(CASE.format(*NAMES[2 * number : 2 * number + 2]), encoding="utf-8")
        cases.append(str(case))
    settings = {"Full": {**COMMON, "removal_factor": 0.0}, "Pruned": {**COMMON, "removal_factor": 0.2}}
    known = {"name": "quays", "model": folder, "cases": cases, "settings": settings, "trials": 1, "rounds": 2}
    with SqlStore.open(there / "tertulia.db", create=True) as opened:
        drive_here(opened, checked(Experiment.model_validate(known)))
    return there / "tertulia.db"


@pytest.fixture
def store(driven: Path, tmp_path: Path) -> Iterator[SqlStore]:
    """Return a copy of its own of the store."""
    copy = tmp_path / "tertulia.db"
    copy.write_bytes(driven.read_bytes())
    with SqlStore.open(copy, create=False) as opened:
        yield opened


def measured(
    store: SqlStore,
    model: causal.CausalLanguageModel,
    lines: Sequence[AblatedLine] | None = None,
    ablations: int = ABLATIONS,
) -> Faithfulness:
    chosen = lines or chosen_lines(store, ["quays"], None, 2 * SOURCES)
    figures = AblationFigures(store, chosen[0].record.model, lambda: (model, RehearsalEmbedder()))
    return measure_faithfulness(figures, chosen, ablations, read_scorers(None))


def means(found: Faithfulness, measure: str = "lds") -> Mapping[str, float]:
    return {scorer: found.mean(scorer, measure).value or 0.0 for scorer in found.scorers}


def test_planted_effects_are_told_by_who_measures_them_and_not_by_chance(
    store: SqlStore, model: causal.CausalLanguageModel
) -> None:
    found = measured(store, altered_models.Planted(model))
    assert [*found.scorers] == [*SCORERS]
    lds, drops = means(found), means(found, "drop1")
    assert lds["leave_one_out"] > 0.95, "near 1"
    assert lds["at2"] > 0.9, "learned from other sources"
    assert lds["context_cite"] > 0.9
    assert max(abs(lds["random"]), abs(lds["length"]), abs(lds["attention"])) < 0.35
    assert drops["leave_one_out"] == max(drops.values())
    assert drops["at2"] > drops["random"]
    assert found.weights is not None
    assert int(np.argmax(found.weights.weights)) == 3, "the last head of the second layer"
    beats = {(each.scorer, each.baseline): each for each in found.comparisons if each.measure == "lds"}
    for baseline in ("length", "random"):
        assert beats["leave_one_out", baseline].outcome == "reproduced"
        assert beats["at2", baseline].outcome == "reproduced"
        assert (beats["at2", baseline].p_adjusted or 0) > (beats["at2", baseline].p or 0)


def test_at2_scores_a_source_by_weights_without_it(
    store: SqlStore, model: causal.CausalLanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, tuple[str, ...]]] = []

    def watched(responses: Any, attention: Any) -> Any:
        learned = figures_module.learn_elsewhere(responses, attention)
        seen.extend((source, weights.sources) for source, weights in learned.items())
        return learned

    monkeypatch.setattr("tertulia.lab.faithfulness.learn_elsewhere", watched)
    found = measured(store, altered_models.Planted(model))
    assert {source for source, _ in seen} == {each.source for each in found.lines}
    assert len(seen) == SOURCES
    assert all(source not in used and len(used) == SOURCES - 1 for source, used in seen)


def test_of_one_source_at2_is_left_out_in_words(store: SqlStore, model: causal.CausalLanguageModel) -> None:
    lines = chosen_lines(store, ["quays"], None, 2 * SOURCES)
    found = measured(store, altered_models.Planted(model), [line for line in lines if line.case == lines[0].case])
    assert "at2" not in found.scorers
    assert "the lines are all from one" in found.notes[0]


def test_values_and_scores_are_those_of_the_model(store: SqlStore, model: causal.CausalLanguageModel) -> None:
    lines = chosen_lines(store, ["quays"], "Pruned", 2 * SOURCES)
    line = next(line for line in lines if line.line.removed)
    assert not {*line.units} & {*line.line.removed}
    figures = AblationFigures(store, line.record.model, lambda: (model, RehearsalEmbedder()))
    (drawn, *others) = line.random_ablations(4)
    assert others[:2] == line.random_ablations(3)[1:]
    found = figures.values(line, [line.full, drawn, *others])
    removed = [*line.line.removed, *(unit for unit, kept in zip(line.units, drawn, strict=True) if kept == "0")]
    prompt = remove_units(store.prompt(line.line.full), removed)
    rendered = utterance_request(prompt, (), model.tokenizer, line.line.parameters).prompt
    assert found[drawn] != found[line.full]
    single = asyncio.run(model.log_likelihood(rendered, line.line.reply))
    assert found[drawn] == pytest.approx(single, abs=1e-5), "in a batch as alone"
    heads = np.array(figures.heads(line))
    assert heads.shape == (len(line.units), figures.layers(line) * model.model.config.num_attention_heads)
    of_line = np.array(figures.scores(line, "attention_of_line"))
    reply = line.line.reply
    if reply.text_tokens == (0, len(reply.tokens[: reply.text_tokens[1]])):
        assert heads.sum(1) / model.model.config.num_attention_heads == pytest.approx(of_line, rel=1e-5)
    assert all(score > 0 for scorer in ("attention", "length") for score in figures.scores(line, scorer))


def test_an_interrupted_measurement_goes_on_with_the_same_digits(
    store: SqlStore, driven: Path, model: causal.CausalLanguageModel, tmp_path: Path
) -> None:
    lines = chosen_lines(store, ["quays"], None, 6)
    whole = measured(store, model, lines, 8)
    copy = tmp_path / "again.db"
    copy.write_bytes(driven.read_bytes())
    with SqlStore.open(copy, create=False) as again:
        stopping = altered_models.Planted(model)
        for after in (8, 30, 55):
            stopping = altered_models.Stopping(model, after)
            with pytest.raises(KeyboardInterrupt):
                measured(again, stopping, lines, 8)
        assert stopping.asked, "what was measured before is not measured again"
        resumed = measured(again, model, lines, 8)
    assert [each.by_scorer for each in resumed.lines] == [each.by_scorer for each in whole.lines]
    assert resumed.comparisons == whole.comparisons
    figures = AblationFigures(store, lines[0].record.model, models_for(lines[0].record, None, True))  # type: ignore[arg-type]
    reported = measure_faithfulness(figures, lines, 8, read_scorers(None))
    assert reported.comparisons == whole.comparisons, "the report recomputes from the store"
    kept = Annotations(store.file).of(lines[0].line.run, "faithfulness")
    assert {(each.part, each.agent) for each in kept} >= {(0, ""), (1, ""), (2, "attention"), (2, "random")}
    assert {each.model for each in kept} == {f"{lines[0].record.model} in float32"}


def test_lines_are_drawn_evenly_over_sources(store: SqlStore) -> None:
    lines = chosen_lines(store, ["quays"], None, SOURCES + 2)
    counts = [sum(line.case == case for line in lines) for case in {line.case for line in lines}]
    assert sorted(counts) == [1] * (SOURCES - 2) + [2, 2]
    fewer = chosen_lines(store, ["quays"], None, 3)
    assert [line.key for line in fewer] == [line.key for line in lines[:3]]
    assert len({source_of(line.case) for line in lines}) == SOURCES
    of_run = chosen_lines(store, [lines[0].line.run], None, 9)
    assert {line.line.run for line in of_run} == {lines[0].line.run}
    assert len(of_run) == 2


def test_bad_input_is_told_in_a_sentence(store: SqlStore, model: causal.CausalLanguageModel, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"--scorers=atention: there is no such scorer \(did you mean 'attention'"):
        read_scorers(["length,atention"])
    assert read_scorers(["attention"]) == ("attention", "length", "random")
    with pytest.raises(SettingError, match="--setting=Third: quays has no such setting; it has Full, Pruned"):
        chosen_lines(store, ["quays"], "Third", 3)
    with pytest.raises(NotFoundError, match="no run"):
        chosen_lines(store, ["nothing"], None, 3)
    line = chosen_lines(store, ["quays"], None, 1)[0]
    served = line.record.model_copy(update={"model": "openai:gpt-4o"})
    with pytest.raises(ModelError, match="openai:gpt-4o runs on a server, which shows no attention heads"):
        models_for(served, None, False)  # type: ignore[arg-type]
    figures = AblationFigures(store, "rehearsal", lambda: (rehearsal_of("rehearsal"), RehearsalEmbedder()))
    with pytest.raises(ModelError, match="rehearsal does not show its attention heads"):
        figures.values(line, [line.full])
    figures = AblationFigures(store, line.record.model, models_for(line.record, None, True))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="leave out --report-only"):
        figures.values(line, [line.full])


def test_a_prompt_of_two_units_is_none_to_ablate(folder: str, tmp_path: Path) -> None:
    case = tmp_path / "bare.yaml"
    people = "[{name: Ana, memories: [x.]}, {name: Bo, memories: [x.]}]"
    case.write_text(f"name: bare\nparticipants: {people}\ntime: 2025-02-11 08:15:00\n", "utf-8")
    bare = {**COMMON, "removed_blocks": "bmpe", "removal_factor": 0.0}
    known = {"name": "bare", "model": folder, "cases": [str(case)], "settings": {"RM": bare}, "trials": 1, "rounds": 1}
    with SqlStore.open(tmp_path / "bare.db", create=True) as store:
        drive_here(store, checked(Experiment.model_validate(known)))
        with pytest.raises(NotFoundError, match="a prompt with three removable units or more"):
            chosen_lines(store, ["bare"], None, 3)


def test_the_command_writes_a_page_its_data_and_the_weights(driven: Path, tmp_path: Path, cli: Cli) -> None:
    copy, out = tmp_path / "tertulia.db", tmp_path / "reports"
    copy.write_bytes(driven.read_bytes())
    asked = ["lab", "faithfulness", "quays", "--turns", "5", "--ablations", "8", "--store", str(copy)]
    refused = cli(*asked, "--report-only", "--out", str(out))
    assert (refused.code, "leave out --report-only" in refused.err) == (2, True)
    shown = cli(*asked, "--out", str(out))
    assert shown.code == 0, shown.err
    assert "LDS of attention:" in shown.out
    again = cli(*asked, "--report-only", "--out", str(out), "--json")
    document = json.loads(again.out)
    assert {*document["figures"]} == {*SCORERS}
    page = (out / "faithfulness" / "faithfulness.md").read_text("utf-8")
    assert "| leave\\_one\\_out |" in page or "| leave_one_out |" in page
    weights = json.loads((out / "faithfulness" / "faithfulness_at2.json").read_text("utf-8"))
    assert len(weights["weights_by_layer_and_head"]) > 1
    rows = [*csv.DictReader((out / "faithfulness" / "faithfulness_lines.csv").open(encoding="utf-8"))]
    assert len(rows) == 5 * len(SCORERS)
    without = cli(*asked, "--report-only", "--no-drops", "--out", str(out), "--json")
    ranked = {"lds", "first", "first3", "share"}
    assert {measure for found in without.json["figures"].values() for measure in found} == ranked
    assert {each["measure"] for each in without.json["comparisons"]} == ranked
    wrong = cli(*asked, "--scorers", "attention,lenght", "--out", str(out))
    assert "did you mean 'length'" in wrong.err
