"""Loading the model that adapters are trained on, with its tokenizer, as transformers has them: nothing is packed."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast

from tertulia.models.loading import device_and_dtype, with_adapters
from tertulia.models.local import embedded
from tertulia.models.local.adapters import Adapters, hash_of_base
from tertulia.models.local.hub import asked_for_adapters, load, quiet_libraries
from tertulia.models.local.tokenizer import HuggingFaceTokenizer
from tertulia.models.served.chat_names import is_chat_name
from tertulia.state.errors import ModelError, UsageError
from tertulia.state.language_model import REHEARSAL, Report
from tertulia.state.text import first_line


@dataclass(frozen=True)
class Base:
    """A model to train on, the hash of its files, and the adapters that are trained further; `None`: fresh ones."""

    model: PreTrainedModel
    tokenizer: HuggingFaceTokenizer
    hash: str
    adapters: Adapters | None = None


def load_base(name: str, cache: Path, report: Report) -> Base:
    """Return the model of a name, in the precision that trains fastest on this hardware.

    Raises:
        UsageError: It has no weights here that could be trained on.
        ModelError: It can't be loaded.
    """
    if is_chat_name(name) or name == REHEARSAL:
        raise UsageError(
            f"{name} has no weights here to put adapters onto; take {embedded.PLAIN}, a folder or a hub id"
        )
    name, adapters = with_adapters(name, cache)
    with quiet_libraries():
        source = str(embedded.folder(cache, report)) if embedded.is_embedded(name) else name
        device, dtype = device_and_dtype("auto")
        if device == "cpu" and dtype == torch.bfloat16 and not _is_faster_in_bfloat16():
            dtype = torch.float32
        # On processors torch's fused attention takes 1.4 times as long, forth and back, as the products one by one.
        attention = "eager" if device == "cpu" else "sdpa"

        def parts(local: bool) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
            options = {"trust_remote_code": False, "local_files_only": local}
            of_weights = {**options, "adapter_kwargs": asked_for_adapters(local), "attn_implementation": attention}
            model: Any = AutoModelForCausalLM.from_pretrained(source, dtype=dtype, **of_weights)
            tokenizer: Any = AutoTokenizer.from_pretrained(source, **options)
            return model.to(device), tokenizer

        try:
            remedy = "name a folder with the model"
            model, tokenizer = load(source, parts, remedy=remedy, report=report, may_download=False)
        except (OSError, ValueError, KeyError, ImportError) as error:
            raise ModelError(f"the model {name!r} can't be loaded: {first_line(error)}") from error
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise ModelError(f"the model {name!r} can't be trained on: its tokenizer has no fast form")
    return Base(model, HuggingFaceTokenizer(tokenizer), hash_of_base(source), adapters)


def _is_faster_in_bfloat16() -> bool:
    """Return whether this processor multiplies hundreds of rows, as training does, faster in bfloat16.

    Some with AVX-512's units for it take a quarter of the time of float32, others twice of it.
    """
    seconds = {}
    for dtype in (torch.float32, torch.bfloat16):
        rows, weights = torch.ones(512, 576, dtype=dtype), torch.ones(1536, 576, dtype=dtype)
        took = []
        for _ in range(5):
            began = time.perf_counter()
            functional.linear(rows, weights)
            took.append(time.perf_counter() - began)
        seconds[dtype] = min(took)
    return seconds[torch.bfloat16] < seconds[torch.float32]
