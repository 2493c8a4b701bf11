"""Low-rank adapters (Hu et al. 2021, LoRA) in the form of peft: read as data, checked, and merged into the weights.

A model with adapters is named `BASE+FOLDER`, or `BASE+NAME` for those that `tertulia tune` keeps under a name. They are
merged when the model is loaded, so that they cost nothing afterwards, and nothing of them is executed: safetensors
alone are read.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tertulia.state.errors import ModelError, NotFoundError
from tertulia.state.files import read_text

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

#: The files of adapters, in peft's form.
CONFIGURATION, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"

#: The sign between a model and its adapters in a name.
SEPARATOR = "+"

#: The largest files that are read: adapters of rank 256 for a model of 70 billion parameters.
_MOST_CONFIGURATION, _MOST_WEIGHTS = 10**6, 16 * 10**9

#: The names of pickles: they are code, and never opened.
_PICKLES = ("adapter_model.bin", "adapter_model.pt", "adapter_model.pth")

_PREFIX = "base_model.model."


@dataclass(frozen=True)
class Adapters:
    """Adapters in a folder.

    Attributes:
        scale: The factor on the product of their matrices.
        hash: Of their content: blake2b of the weights' file and of rank and scale, 16 bytes, in hexadecimal.
        about: The description written with them: the base, the data, the options.
    """

    folder: Path
    rank: int
    scale: float
    hash: str
    about: dict[str, Any]


def split_name(name: str) -> tuple[str, str | None]:
    """Return the model of a name, and its adapters if it has some."""
    base, _, adapters = name.partition(SEPARATOR)
    return (base, adapters) if adapters and base else (name, None)


def kept_under(name: str, cache: Path) -> Path:
    """Return the folder in which adapters of that name are kept."""
    return cache / "voices" / name


def find_adapters(name: str, cache: Path) -> Path:
    """Return the folder of adapters: the folder of that path, or those that are kept under that name.

    Raises:
        NotFoundError: There is no such folder.
    """
    if "/" not in name and not name.startswith(".") and kept_under(name, cache).is_dir():
        return kept_under(name, cache)
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    raise NotFoundError(
        f"the adapters {name!r} are not here: there is no such folder, and none of that name was tuned on this machine"
        " (tertulia tune … --name NAME)"
    )


def read_adapters(folder: Path) -> Adapters:
    """Return the adapters in a folder, without their weights.

    Raises:
        ModelError: They are no adapters, damaged, or of a kind that is not read.
    """
    if not (folder / WEIGHTS).is_file():
        if pickle := next((name for name in _PICKLES if (folder / name).exists()), None):
            raise ModelError(
                f"{folder} has its weights in {pickle}, which is a pickle and may be code; only {WEIGHTS} is read"
            )
        raise ModelError(f"the folder {folder} holds no adapters: {WEIGHTS} is missing")
    try:
        read: Any = json.loads(read_text(folder / CONFIGURATION, _MOST_CONFIGURATION))
    except FileNotFoundError:
        raise ModelError(f"the folder {folder} holds no adapters: {CONFIGURATION} is missing") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{folder / CONFIGURATION} can't be read ({error}); see that it is whole") from None
    rank, alpha = (read.get("r"), read.get("lora_alpha")) if isinstance(read, dict) else (None, None)
    if not isinstance(rank, int) or not isinstance(alpha, int | float) or not 1 <= rank <= 1024 or not alpha > 0:
        raise ModelError(f"{folder / CONFIGURATION} does not say the rank (r) and scale (lora_alpha) of adapters")
    unread = ("use_dora", "rank_pattern", "alpha_pattern", "modules_to_save", "use_qalora", "fan_in_fan_out")
    if read.get("peft_type", "LORA") != "LORA" or (name := next((n for n in unread if read.get(n)), None)) is not None:
        kind = read["peft_type"] if read.get("peft_type", "LORA") != "LORA" else name
        raise ModelError(f"the adapters in {folder} are of a kind that is not read ({kind}); plain LoRA is")
    scale = alpha / (rank**0.5 if read.get("use_rslora") else rank)
    about = read.get("tertulia")
    return Adapters(folder, rank, scale, _hash_of(folder, rank, scale), about if isinstance(about, dict) else {})


def merge_adapters(model: "PreTrainedModel", adapters: Adapters) -> None:
    """Add adapters to the weights of a model, in float32 and rounded once.

    Raises:
        ModelError: They are damaged, of another model, or of another rank than they say.
    """
    import torch

    weights = dict(model.named_parameters())
    with torch.no_grad():
        for name, pair in matrices_for(weights, adapters).items():
            weight = weights[f"{name}.weight"]
            merge(weight, pair, adapters.scale, out=weight)


def merge(weight: "Tensor", pair: "tuple[Tensor, Tensor]", scale: float, *, out: "Tensor") -> None:
    """Write a weight with its adapters to `out`, of its shape and precision; it may be that weight."""
    import torch

    down, up = (matrix.float() for matrix in pair)
    if out.dtype == torch.float32:
        torch.addmm(weight, up, down, alpha=scale, out=out)
    else:
        out.copy_(torch.addmm(weight.float(), up, down, alpha=scale))


def matrices_for(weights: "Mapping[str, Tensor]", adapters: Adapters) -> "dict[str, tuple[Tensor, Tensor]]":
    """Return the two matrices of each layer (`matrices_of`), after a comparison with the weights of a model.

    Raises:
        ModelError: They are damaged, of another model, or of another rank than they say.
    """
    pairs = matrices_of(adapters)
    for name, (down, up) in pairs.items():
        weight = weights.get(f"{name}.weight")
        shape = None if weight is None else tuple(weight.shape)
        if shape != (up.shape[0], down.shape[1]):
            has = "nothing of that name" if shape is None else " × ".join(map(str, shape))
            raise ModelError(
                f"the adapters in {adapters.folder} are for another model: {name} is "
                f"{up.shape[0]} × {down.shape[1]} in them, and here {has}"
            )
    return pairs


def matrices_of(adapters: Adapters) -> "dict[str, tuple[Tensor, Tensor]]":
    """Return the two matrices of each layer: `(r, in)` and `(out, r)`."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    file = adapters.folder / WEIGHTS
    try:
        tensors = load_file(file)
    except (OSError, SafetensorError, ValueError, RuntimeError) as error:
        raise ModelError(f"{file} can't be read ({str(error).splitlines()[0]}); see that it is whole") from None
    pairs = {}
    for name, down in tensors.items():
        layer = name.removeprefix(_PREFIX).removesuffix(".lora_A.weight")
        if not name.endswith(".lora_A.weight"):
            if not name.endswith(".lora_B.weight"):
                raise ModelError(f"{file} holds {name}, which is no low-rank adapter of a linear layer")
            continue
        up = tensors.get(name.replace(".lora_A.", ".lora_B."))
        if up is None or down.ndim != 2 or up.ndim != 2 or not down.shape[0] == up.shape[1] == adapters.rank:
            raise ModelError(f"the adapters in {adapters.folder} are damaged: {layer} is not of rank {adapters.rank}")
        if not bool(down.isfinite().all() and up.isfinite().all()):
            raise ModelError(f"the adapters in {adapters.folder} are damaged: {layer} holds values that are no numbers")
        pairs[layer] = (down, up)
    if not pairs:
        raise ModelError(f"{file} holds no adapters")
    return pairs


def hash_of_base(source: str) -> str:
    """Return the hash of a base's weights: of the names and sizes of its files, and of the first megabyte of each.

    Weights that were trained differ everywhere, so their beginning tells them apart; reading half a gigabyte at each
    start would not pay.
    """
    folder = Path(source) if Path(source).is_dir() else _folder_in_hub_cache(source)
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(folder.glob("*.safetensors")):
        digest.update(f"{file.name} {file.stat().st_size} ".encode())
        with open(file, "rb") as read:
            digest.update(read.read(1 << 20))
    return digest.hexdigest()


def _folder_in_hub_cache(name: str) -> Path:
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(name, local_files_only=True))


def _hash_of(folder: Path, rank: int, scale: float) -> str:
    file = folder / WEIGHTS
    if file.stat().st_size > _MOST_WEIGHTS:
        raise ModelError(f"{file} is larger than {_MOST_WEIGHTS // 10**9} GB, which no adapters are")
    digest = hashlib.blake2b(f"{rank} {scale!r}".encode(), digest_size=16)
    with open(file, "rb") as read:
        while part := read.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()
