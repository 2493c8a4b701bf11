"""The embedded model with its voice as other programs take it: a folder of transformers, and a GGUF file."""

from pathlib import Path

import gguf
import torch
from transformers import AutoTokenizer, LlamaForCausalLM

from tertulia.models.local import embedded
from tertulia.models.local.adapters import merge_adapters, read_adapters


def save_folder(converted: Path, folder: Path) -> None:
    """Write the model with its voice merged, in float32.

    Args:
        converted: The folder of the embedded model without it.
        folder: Is made.
    """
    model = LlamaForCausalLM.from_pretrained(converted, dtype=torch.float32).eval()
    merge_adapters(model, read_adapters(embedded.VOICE))
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(converted).save_pretrained(folder)


def save_gguf(folder: Path, file: Path) -> None:
    """Write the model of a folder in float16, with all that the package's GGUF file says besides its tensors."""
    weights = embedded.weights()
    assert weights is not None
    source, written = gguf.GGUFReader(weights), gguf.GGUFWriter(file, "llama")
    for name, field in source.fields.items():
        if not name.startswith("GGUF.") and name not in ("general.architecture", "general.file_type"):
            kind = field.types[0]
            inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
            written.add_key_value(name, field.contents(), kind, sub_type=inner)
    written.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, model.config.num_hidden_layers)
    heads = {"q_proj": model.config.num_attention_heads, "k_proj": model.config.num_key_value_heads}
    for name, value in model.named_parameters():
        rows = next((count for part, count in heads.items() if part in name), None)
        tensor = value.detach() if rows is None else _as_llama_cpp_turns(value.detach(), rows)
        kept = tensor.float() if tensor.ndim == 1 else tensor.half()
        place = names.get_name(name, try_suffixes=(".weight",))
        assert place is not None, name
        written.add_tensor(place, kept.numpy())
    written.write_header_to_file()
    written.write_kv_data_to_file()
    written.write_tensors_to_file()
    written.close()


def _as_llama_cpp_turns(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Return the rows of a projection in the order of llama.cpp: what turns together lies side by side."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns).contiguous()
