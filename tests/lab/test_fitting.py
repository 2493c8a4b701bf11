"""Learned weights of heads: fitted, kept by their model, found again, and refused where they belong to another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from support.on_use import on_use
from support.tiny import save_tiny

from tertulia.lab import fitting
from tertulia.lab.fitting import FitPlan, fit_head_weights
from tertulia.models.local.head_weights import (
    find_head_weights,
    keep_head_weights,
    kept_in,
    read_head_weights,
    require_weights_of,
)
from tertulia.runs.access.engines import ModelAccess
from tertulia.state.errors import ModelError, NotFoundError, UsageError
from tertulia.state.head_weights import HeadWeights
from tertulia.state.parameters import Parameters

causal = on_use("tertulia.models.local.causal")

WEIGHTS = HeadWeights(model="tiny", fingerprint="a" * 16, weights=[[0.0, 1.5], [0.25, 0.0]], floor=0.02)


def a_scenario(folder: Path, name: str) -> str:
    people = [
        {
            "name": person,
            "age": 40,
            "traits": "calm, quick",
            "background": f"{person} mends boats.",
            "activity": "waiting",
            "memories": [f"{person} saw {thing} in {name}." for thing in ("a heron", "two boats", "the tide", "rain")],
        }
        for person in ("Mara Lind", "Piotr Berg")
    ]
    document = {"name": name, "time": "2024-05-16 17:20:00", "place": name, "participants": people}
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(file)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp("tiny")))


def test_a_fit_is_kept_goes_on_where_it_was_and_is_found_by_its_model(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = tuple(a_scenario(tmp_path, name) for name in ("quay", "mill"))
    plan = FitPlan(tiny, cases, lines=6, ablations=8, rounds=2)
    access = ModelAccess(tmp_path / "cache")
    read: list[int] = []
    answer = causal.CausalLanguageModel.answer_batch

    async def counted(self: Any, questions: Any) -> Any:
        read.append(len(questions))
        if len(read) == 12:
            raise KeyboardInterrupt
        return await answer(self, questions)

    monkeypatch.setattr(causal.CausalLanguageModel, "answer_batch", counted)
    with pytest.raises(KeyboardInterrupt):
        fit_head_weights(plan, access)
    fit = fit_head_weights(plan, access)
    done = len(read)
    assert fit_head_weights(plan, access).weights == fit.weights
    assert len(read) == done, "what was measured is not measured again"

    assert {line.source for line in fit.report.lines} == set(cases)
    assert len(fit.weights.weights) == len(
        access.naming([tiny]).language_model(tiny, Parameters()).traits.layer_windows or ()
    )
    assert all(weight >= 0 for layer in fit.weights.weights for weight in layer)
    assert fit.weights.about["lines"] == 6
    assert set(fit.weights.about["lds_on_other_sources"]) == set(fitting.SCORERS)
    keep_head_weights(fit.weights, kept_in(tmp_path / "cache"))
    opened = access.naming([tiny]).language_model(tiny, Parameters())
    assert opened.traits.head_weights == fit.weights


def test_cases_of_one_source_and_models_without_heads_are_refused_before_anything_is_held(
    tiny: str, tmp_path: Path
) -> None:
    access = ModelAccess(tmp_path / "cache")
    with pytest.raises(UsageError, match="of one source"):
        fit_head_weights(FitPlan(tiny, (a_scenario(tmp_path, "quay"),)), access)
    with pytest.raises(UsageError, match="shows no attention heads"):
        fit_head_weights(FitPlan("rehearsal"), access)
    assert not list((tmp_path / "cache").rglob("store.db"))


def test_weights_are_those_of_one_model_and_say_so(tmp_path: Path) -> None:
    file = keep_head_weights(WEIGHTS, tmp_path)
    assert read_head_weights(file) == WEIGHTS
    assert find_head_weights("a" * 16, tmp_path / "none") is None
    assert require_weights_of(WEIGHTS, "a" * 16, "tiny") is WEIGHTS
    with pytest.raises(ModelError, match=r"are of tiny .*and other is another model, or has other adapters"):
        require_weights_of(WEIGHTS, "b" * 16, "other")
    renamed = kept_in(tmp_path) / f"{'c' * 16}.json"
    renamed.parent.mkdir()
    renamed.write_bytes(file.read_bytes())
    with pytest.raises(ModelError, match="is another model"):
        find_head_weights("c" * 16, tmp_path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nonsense", "holds no weights of heads"),
        (WEIGHTS.model_dump_json().replace("1.5", "-1.5"), "a weight is below 0"),
        (WEIGHTS.model_dump_json().replace("1.5", "0.0").replace("0.25", "0.0"), "all weights are 0"),
        (WEIGHTS.model_dump_json().replace("[0.0,1.5]", "[0.0]"), "different numbers of heads"),
    ],
)
def test_a_damaged_file_of_weights_is_one_line(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=problem) as told:
        read_head_weights(file)
    assert "\n" not in str(told.value)
    with pytest.raises(NotFoundError):
        read_head_weights(tmp_path / "none.json")
