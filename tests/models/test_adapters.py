"""Low-rank adapters: merged exactly, refused with the reason, and told apart by what they hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.adapters import LAYER, save_adapters
from support.on_use import on_use
from support.tiny import save_tiny

from tertulia.models.loading import open_model
from tertulia.models.local.adapters import (
    CONFIGURATION,
    WEIGHTS,
    find_adapters,
    merge_adapters,
    read_adapters,
)
from tertulia.state.errors import ModelError, NotFoundError

causal = on_use("tertulia.models.local.causal")
safetensors = on_use("safetensors.torch")
torch = on_use("torch")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return save_tiny(tmp_path / "base")


def test_merged_weights_are_the_base_and_the_scaled_product(base: Path, tmp_path: Path) -> None:
    folder = save_adapters(tmp_path / "voice", base)
    plain, voiced = open_model(str(base), cache=tmp_path), open_model(f"{base}+{folder}", cache=tmp_path)
    assert isinstance(plain, causal.CausalLanguageModel)
    assert isinstance(voiced, causal.CausalLanguageModel)
    matrices = safetensors.load_file(folder / WEIGHTS)
    down, up = (matrices[f"base_model.model.{LAYER}.lora_{side}.weight"] for side in "AB")
    before = safetensors.load_file(base / "model.safetensors")
    merged = read_adapters(folder)
    model = voiced_copy(base, merged)
    torch.testing.assert_close(model[f"{LAYER}.weight"], before[f"{LAYER}.weight"] + 2 * up @ down)
    untouched = "model.layers.0.mlp.down_proj.weight"
    torch.testing.assert_close(model[untouched], before[untouched])
    assert voiced.weights is not None
    assert (voiced.weights.adapters, voiced.weights.adapters_hash) == (str(folder), merged.hash)
    assert plain.weights is None


def voiced_copy(base: Path, adapters: object) -> dict[str, torch.Tensor]:
    """Return the weights of a model with adapters merged, by name."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    merge_adapters(model, adapters)  # type: ignore[arg-type]
    return dict(model.named_parameters())


def test_a_hash_tells_content_rank_and_scale_apart(base: Path, tmp_path: Path) -> None:
    one, same = save_adapters(tmp_path / "one", base), save_adapters(tmp_path / "same", base)
    other_scale = save_adapters(tmp_path / "scale", base, lora_alpha=8)
    other_rank = save_adapters(tmp_path / "rank", base, rank=3)
    hashes = [read_adapters(folder).hash for folder in (one, same, other_scale, other_rank)]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


def test_adapters_are_found_by_name_and_by_folder(base: Path, tmp_path: Path) -> None:
    kept = save_adapters(tmp_path / "voices" / "harbour", base)
    assert find_adapters("harbour", tmp_path) == kept
    assert find_adapters(str(kept), tmp_path) == kept
    with pytest.raises(NotFoundError, match="'pier' are not here"):
        find_adapters("pier", tmp_path)


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda folder: (folder / WEIGHTS).unlink(), r"holds no adapters: adapter_model\.safetensors is missing"),
        (
            lambda folder: (folder / WEIGHTS).rename(folder / "adapter_model.bin"),
            r"adapter_model\.bin, which is a pickle and may be code",
        ),
        (lambda folder: (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:-9]), "can't be read"),
        (lambda folder: (folder / CONFIGURATION).unlink(), r"adapter_config\.json is missing"),
        (lambda folder: (folder / CONFIGURATION).write_text('{"r": true, "lora_alpha": "x"}'), "does not say the rank"),
        (lambda folder: changed(folder, r=3), "not of rank 3"),
        (lambda folder: changed(folder, use_dora=True), r"of a kind that is not read \(use_dora\)"),
        (lambda folder: with_values(folder, float("nan")), "values that are no numbers"),
    ],
)
def test_what_can_t_be_read_is_refused_in_one_line(base: Path, tmp_path: Path, spoil: object, problem: str) -> None:
    folder = save_adapters(tmp_path / "voice", base)
    spoil(folder)  # type: ignore[operator]
    with pytest.raises(ModelError, match=problem) as raised:
        open_model(f"{base}+{folder}", cache=tmp_path)
    assert "\n" not in str(raised.value)


def changed(folder: Path, **values: object) -> None:
    """Change values of a configuration."""
    read = json.loads((folder / CONFIGURATION).read_text())
    (folder / CONFIGURATION).write_text(json.dumps({**read, **values}))


def with_values(folder: Path, value: float) -> None:
    """Fill all matrices with a value."""
    safetensors.save_file(
        {name: tensor.fill_(value) for name, tensor in safetensors.load_file(folder / WEIGHTS).items()},
        folder / WEIGHTS,
    )


def test_adapters_of_another_model_are_refused(base: Path, tmp_path: Path) -> None:
    folder = save_adapters(tmp_path / "voice", base)
    renamed = {
        name.replace("layers.0", "layers.77"): tensor
        for name, tensor in safetensors.load_file(folder / WEIGHTS).items()
    }
    safetensors.save_file(renamed, folder / WEIGHTS)
    with pytest.raises(ModelError, match=r"are for another model: model\.layers\.77"):
        open_model(f"{base}+{folder}", cache=tmp_path)
