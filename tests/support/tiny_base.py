"""A tiny model with random weights, as transformers loads it, for what only needs weights that can be taught."""

from pathlib import Path


def save_tiny_base(folder: Path) -> Path:
    """Write the model and its tokenizer to a folder; return it."""
    import torch
    from support.tiny_tokenizer import VOCABULARY, tiny_tokenizer
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=2048,
            bos_token_id=0,
            eos_token_id=2,
            pad_token_id=0,
        )
    ).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder
