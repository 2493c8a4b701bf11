"""Low-rank adapters of one layer of a tiny model, saved as peft saves them."""

from __future__ import annotations

import json
from pathlib import Path

from support.on_use import on_use

from tertulia.models.local.adapters import CONFIGURATION, WEIGHTS

safetensors = on_use("safetensors.torch")
torch = on_use("torch")

LAYER = "model.layers.0.mlp.up_proj"


def save_adapters(folder: Path, base: Path, rank: int = 2, **configuration: object) -> Path:
    """Save adapters of one layer of a model."""
    out, width = safetensors.load_file(base / "model.safetensors")[f"{LAYER}.weight"].shape
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    name = f"base_model.model.{LAYER}"
    matrices = {f"{name}.lora_A.weight": torch.randn(rank, width), f"{name}.lora_B.weight": torch.randn(out, rank)}
    safetensors.save_file(matrices, folder / WEIGHTS)
    written = {"peft_type": "LORA", "r": rank, "lora_alpha": 4, **configuration}
    (folder / CONFIGURATION).write_text(json.dumps(written))
    return folder
