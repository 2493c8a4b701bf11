"""Tiny models with random weights, and a real byte-level tokenizer, made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.on_use import on_use
from support.tiny_tokenizer import VOCABULARY, tiny_tokenizer

from tertulia.prompts.render import render
from tertulia.state.language_model import ModelTraits, RenderedPrompt
from tertulia.state.records import Prompt, Unit

if TYPE_CHECKING:
    import torch
    import transformers

    from tertulia.models.local import causal
else:
    causal, torch, transformers = on_use("tertulia.models.local.causal"), on_use("torch"), on_use("transformers")

_SHARED: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "max_position_embeddings": 2048,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
_WINDOWED: dict[str, Any] = {"num_key_value_heads": 2, "sliding_window": 8}
#: Every other layer slides, and the last two use the keys and values of the two before.
_SHARING: dict[str, Any] = {
    **_SHARED,
    **_WINDOWED,
    "num_hidden_layers": 6,
    "layer_types": ["sliding_attention", "full_attention"] * 3,
    "num_kv_shared_layers": 2,
    "vocab_size_per_layer_input": VOCABULARY,
    "hidden_size_per_layer_input": 8,
    "head_dim": 8,
}
FAMILIES: dict[str, Callable[[], transformers.PreTrainedModel]] = {
    "llama, grouped heads": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**_SHARED, num_key_value_heads=2)
    ),
    "llama, ungrouped heads": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**_SHARED, num_key_value_heads=4)
    ),
    "gpt2": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=VOCABULARY, n_embd=32, n_layer=3, n_head=4, n_positions=2048, bos_token_id=0, eos_token_id=2
        )
    ),
    "qwen2, sliding windows": lambda: transformers.Qwen2ForCausalLM(
        transformers.Qwen2Config(**_SHARED, **_WINDOWED, use_sliding_window=True, max_window_layers=2)
    ),
    "gemma2, capped and sliding": lambda: transformers.Gemma2ForCausalLM(
        transformers.Gemma2Config(**_SHARED, **_WINDOWED, head_dim=8, query_pre_attn_scalar=8)
    ),
    "gemma3, five in six sliding": lambda: transformers.Gemma3ForCausalLM(
        transformers.Gemma3TextConfig(
            **_SHARED | {"num_hidden_layers": 6}, **_WINDOWED, head_dim=8, query_pre_attn_scalar=8
        )
    ),
    "gemma3n, shared layers": lambda: transformers.Gemma3nForCausalLM(
        transformers.Gemma3nTextConfig(**_SHARING, laurel_rank=4, activation_sparsity_pattern=[0.0] * 6)
    ),
    "mistral, all sliding": lambda: transformers.MistralForCausalLM(transformers.MistralConfig(**_SHARED, **_WINDOWED)),
    "gpt-oss, sinks": lambda: transformers.GptOssForCausalLM(
        transformers.GptOssConfig(
            **_SHARED,
            **_WINDOWED,
            head_dim=8,
            num_local_experts=4,
            rope_parameters={"rope_type": "default", "rope_theta": 1e4},
        )
    ),
    "gemma4, shared layers": lambda: transformers.Gemma4ForCausalLM(
        transformers.Gemma4TextConfig(**_SHARING | {"global_head_dim": 16})
    ),
}

#: For tests that repeat over families: a plain one, one of two kinds of layers, one with sinks; the others are `full`.
EACH_FAMILY = [
    family
    if family in ("llama, grouped heads", "gemma3, five in six sliding", "gpt-oss, sinks")
    else pytest.param(family, marks=pytest.mark.full)
    for family in FAMILIES
]


def tiny_model(family: str) -> transformers.PreTrainedModel:
    """Return a model of that family with random weights, large enough for its attention not to be uniform."""
    torch.manual_seed(0)
    model = FAMILIES[family]()
    model.eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(8)
    return model


def drawn_tokens(count: int, seed: int) -> list[int]:
    """Return tokens of the tiny vocabulary, none of them markup."""
    return list(torch.randint(3, VOCABULARY, (count,), generator=torch.Generator().manual_seed(seed)).tolist())


#: Units of `spanned_prompt`, and where they lie.
SPANS = {"first": (2, 9), "middle": (12, 20), "last": (28, 30)}


def spanned_prompt(seed: int = 1) -> RenderedPrompt:
    """Return a prompt of 30 drawn tokens with three units."""
    return RenderedPrompt(tuple(drawn_tokens(30, seed)), SPANS, dict.fromkeys(SPANS, "block"))


def rendered_texts(model: causal.CausalLanguageModel, *texts: str, reply_prefix: str = "") -> RenderedPrompt:
    """Return a prompt of one message, of which each text is a unit: u0, u1 and so on."""
    units = tuple(Unit(id=f"u{i}", block="memory", kind="item", text=text) for i, text in enumerate(texts))
    return render(Prompt(units=units, speaker="Ana", layout="single_message"), model.tokenizer, reply_prefix)


def relative_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the largest relative difference, of values below 1e-4 that to 1e-4."""
    return float(((found - expected).abs() / expected.abs().clamp_min(1e-4)).max())


def tiny_language_model(family: str = "llama, grouped heads", **traits: Any) -> causal.CausalLanguageModel:
    """Return a tiny model behind the project's contract."""
    chosen = {"context_window": 2048, "layout": "single_message", "judge": "rating", **traits}
    return causal.CausalLanguageModel("tiny", tiny_model(family), tiny_tokenizer(), ModelTraits(**chosen))


def save_tiny(folder: Path, family: str = "llama, grouped heads") -> Path:
    """Save a tiny model with its tokenizer to a folder, as transformers loads it, and return the folder."""
    source: Any = tiny_language_model(family)
    source.model.set_attn_implementation("sdpa")
    source.model.save_pretrained(folder)
    source.tokenizer.tokenizer.save_pretrained(folder)
    return folder


def save_tied(folder: Path) -> Path:
    """Save a tiny model of the embedded one's kind to a folder: its words are those that it tells apart at the end."""
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**_SHARED, num_key_value_heads=2, tie_word_embeddings=True)
    )
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(8)
    model.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def save_tiny_embedder(folder: Path) -> Path:
    """Save a tiny model that embeds texts to a folder, as sentence-transformers loads it, and return the folder."""
    from sentence_transformers import SentenceTransformer

    torch.manual_seed(0)
    size: dict[str, Any] = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    model = transformers.BertModel(transformers.BertConfig(vocab_size=VOCABULARY, **size))
    bare = folder.with_name(f"{folder.name} bare")
    model.save_pretrained(bare)
    tokenizer = deepcopy(tiny_tokenizer())
    tokenizer.pad_token = tokenizer.eos_token
    tokenizer.save_pretrained(bare)
    SentenceTransformer(str(bare)).save(str(folder))
    return folder
