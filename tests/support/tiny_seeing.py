"""Tiny models that see, with random weights, and their processors, saved to folders as those of the hub are."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
import pytest
from PIL import Image
from support.on_use import on_use
from support.tiny_tokenizer import tiny_tokenizer

if TYPE_CHECKING:
    import torch
    import transformers
else:
    torch, transformers = on_use("torch"), on_use("transformers")

#: The template writes a part of a message after another, a picture as the token of the family.
_TEMPLATE = (
    "{{% for m in messages %}}<|im_start|>{{{{ m['role'] }}}}\n"
    "{{% if m['content'] is string %}}{{{{ m['content'] }}}}{{% else %}}{{% for part in m['content'] %}}"
    "{{% if part['type'] == 'image' %}}{picture}{{% else %}}{{{{ part['text'] }}}}{{% endif %}}"
    "{{% endfor %}}{{% endif %}}<|im_end|>\n{{% endfor %}}"
    "{{% if add_generation_prompt %}}<|im_start|>assistant\n{{% endif %}}"
)
_VOCABULARY = 440
_TEXT: dict[str, Any] = {
    "vocab_size": _VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
_VISION: dict[str, Any] = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 8,
}
_SIZE = {"height": 32, "width": 32}


def _tokenizer(named: dict[str, str], *others: str) -> transformers.PreTrainedTokenizerFast:
    """Return the tiny tokenizer with the tokens of a family, those with names reached as attributes."""
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=type(tiny_tokenizer().backend_tokenizer).from_str(tiny_tokenizer().backend_tokenizer.to_str()),
        bos_token="<|endoftext|>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        extra_special_tokens={"start": "<|im_start|>", **named},
    )
    tokenizer.add_special_tokens({"additional_special_tokens": list(others)}, replace_extra_special_tokens=False)
    return tokenizer


def _id(tokenizer: transformers.PreTrainedTokenizerFast, token: str) -> int:
    found = tokenizer.convert_tokens_to_ids(token)
    assert isinstance(found, int)
    return found


def _llava() -> tuple[transformers.PreTrainedModel, transformers.ProcessorMixin]:
    tokenizer = _tokenizer({"image_token": "<image>"})
    config = transformers.LlavaConfig(
        vision_config={"model_type": "clip_vision_model", **_VISION},
        text_config={"model_type": "llama", **_TEXT},
        image_token_index=_id(tokenizer, "<image>"),
        image_seq_length=16,
    )
    processor = transformers.LlavaProcessor(
        transformers.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=_SIZE),
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=_TEMPLATE.format(picture="<image>\n"),
    )
    return transformers.LlavaForConditionalGeneration(config), processor


def _llava_next() -> tuple[transformers.PreTrainedModel, transformers.ProcessorMixin]:
    tokenizer = _tokenizer({"image_token": "<image>"})
    grid = [[32, 64], [64, 32], [64, 64]]
    config = transformers.LlavaNextConfig(
        vision_config={"model_type": "clip_vision_model", **_VISION},
        text_config={"model_type": "mistral", **_TEXT, "sliding_window": None},
        image_token_index=_id(tokenizer, "<image>"),
        image_grid_pinpoints=grid,
    )
    processor = transformers.LlavaNextProcessor(
        transformers.LlavaNextImageProcessorPil(size={"shortest_edge": 32}, crop_size=_SIZE, image_grid_pinpoints=grid),
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=_TEMPLATE.format(picture="<image>"),
    )
    return transformers.LlavaNextForConditionalGeneration(config), processor


def _idefics3() -> tuple[transformers.PreTrainedModel, transformers.ProcessorMixin]:
    tokenizer = _tokenizer(
        {
            "image_token": "<image>",
            "fake_image_token": "<fake_token_around_image>",
            "global_image_token": "<global-img>",
            "end_of_utterance_token": "<end_of_utterance>",
        }
    )
    config = transformers.Idefics3Config(
        vision_config={**_VISION, "max_image_size": {"longest_edge": 32}},
        text_config={"model_type": "llama", **_TEXT},
        image_token_id=_id(tokenizer, "<image>"),
        scale_factor=2,
    )
    images = transformers.Idefics3ImageProcessorPil(size={"longest_edge": 64}, max_image_size={"longest_edge": 32})
    processor = transformers.Idefics3Processor(
        images, tokenizer, image_seq_len=4, chat_template=_TEMPLATE.format(picture="<image>")
    )
    return transformers.Idefics3ForConditionalGeneration(config), processor


def _gemma3() -> tuple[transformers.PreTrainedModel, transformers.ProcessorMixin]:
    named = {"image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"}
    tokenizer = _tokenizer(named)
    config = transformers.Gemma3Config(
        vision_config={**_VISION, "vision_use_head": False},
        text_config={
            **_TEXT,
            "head_dim": 8,
            "query_pre_attn_scalar": 8,
            "sliding_window": 8,
            "sliding_window_pattern": 2,
        },
        image_token_index=_id(tokenizer, "<image_soft_token>"),
        boi_token_index=_id(tokenizer, "<start_of_image>"),
        eoi_token_index=_id(tokenizer, "<end_of_image>"),
        mm_tokens_per_image=4,
    )
    processor = transformers.Gemma3Processor(
        transformers.Gemma3ImageProcessorPil(size=_SIZE),
        tokenizer,
        image_seq_length=4,
        chat_template=_TEMPLATE.format(picture="<start_of_image>"),
    )
    return transformers.Gemma3ForConditionalGeneration(config), processor


def _paligemma() -> tuple[transformers.PreTrainedModel, transformers.ProcessorMixin]:
    tokenizer = _tokenizer({"image_token": "<image>"})
    config = transformers.PaliGemmaConfig(
        vision_config={"model_type": "siglip_vision_model", **_VISION, "vision_use_head": False},
        text_config={"model_type": "gemma", **_TEXT, "head_dim": 8},
        image_token_index=_id(tokenizer, "<image>"),
        projection_dim=32,
        hidden_size=32,
    )
    images: Any = transformers.SiglipImageProcessorPil(size=_SIZE)
    images.image_seq_length = 16
    return transformers.PaliGemmaForConditionalGeneration(config), transformers.PaliGemmaProcessor(images, tokenizer)


def _internvl() -> tuple[transformers.PreTrainedModel, transformers.ProcessorMixin]:
    named = {"start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>"}
    tokenizer = _tokenizer({**named, "video_token": "<video>"})
    config = transformers.InternVLConfig(
        vision_config={**_VISION, "image_size": [32, 32], "patch_size": [8, 8]},
        text_config={"model_type": "qwen2", **_TEXT},
        image_token_id=_id(tokenizer, "<IMG_CONTEXT>"),
        downsample_ratio=0.5,
    )
    processor = _for_pictures(transformers.InternVLProcessor)(
        transformers.GotOcr2ImageProcessorPil(size=_SIZE, min_patches=1, max_patches=3, crop_to_patches=True),
        tokenizer,
        image_seq_length=4,
        chat_template=_TEMPLATE.format(picture="<IMG_CONTEXT>\n"),
    )
    return transformers.InternVLForConditionalGeneration(config), processor


def _llava_onevision() -> tuple[transformers.PreTrainedModel, transformers.ProcessorMixin]:
    tokenizer, grid = _tokenizer({"image_token": "<image>", "video_token": "<video>"}), [[32, 64], [64, 32], [64, 64]]
    config = transformers.LlavaOnevisionConfig(
        vision_config={"model_type": "siglip_vision_model", **_VISION, "vision_use_head": False},
        text_config={"model_type": "qwen2", **_TEXT},
        image_token_index=_id(tokenizer, "<image>"),
        video_token_index=_id(tokenizer, "<video>"),
        image_grid_pinpoints=grid,
    )
    processor = _for_pictures(transformers.LlavaOnevisionProcessor)(
        transformers.LlavaOnevisionImageProcessorPil(size=_SIZE, image_grid_pinpoints=grid),
        tokenizer,
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=_TEMPLATE.format(picture="<image>"),
    )
    return transformers.LlavaOnevisionForConditionalGeneration(config), processor


def _aya_vision() -> tuple[transformers.PreTrainedModel, transformers.ProcessorMixin]:
    markup = ("<|START_OF_IMG|>", "<|END_OF_IMG|>", "<|IMG_PATCH|>", "<|IMG_LINE_BREAK|>", "TILE", "TILE_GLOBAL")
    tokenizer = _tokenizer({"image_token": "<image>"}, *markup)
    layers = ["sliding_attention", "full_attention", "full_attention"]
    config = transformers.AyaVisionConfig(
        vision_config={"model_type": "siglip_vision_model", **_VISION, "vision_use_head": False},
        text_config={"model_type": "cohere2", **_TEXT, "sliding_window": 8, "layer_types": layers},
        image_token_index=_id(tokenizer, "<|IMG_PATCH|>"),
        downsample_factor=2,
    )
    processor = transformers.AyaVisionProcessor(
        transformers.GotOcr2ImageProcessorPil(size=_SIZE, min_patches=1, max_patches=3, crop_to_patches=True),
        tokenizer,
        patch_size=8,
        img_size=32,
        downsample_factor=2,
        chat_template=_TEMPLATE.format(picture="<image>"),
    )
    return transformers.AyaVisionForConditionalGeneration(config), processor


def _for_pictures(processor: type[transformers.ProcessorMixin]) -> type[Any]:
    """Return a processor that can be made without one for videos, which needs torchvision."""
    attributes = classmethod(lambda _: ["image_processor", "tokenizer"])
    return type(processor.__name__, (processor,), {"get_attributes": attributes})


_QWEN_VISION: dict[str, Any] = {
    "depth": 2,
    "num_heads": 2,
    "patch_size": 4,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}


def _qwen(
    config: Any, model: Any, vision: dict[str, Any]
) -> tuple[transformers.PreTrainedModel, transformers.ProcessorMixin]:
    named = {"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"}
    tokenizer = _tokenizer(named, "<|vision_start|>", "<|vision_end|>")
    made = config(
        vision_config={**_QWEN_VISION, **vision},
        text_config={
            **_TEXT,
            "head_dim": 8,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]},
        },
        image_token_id=_id(tokenizer, "<|image_pad|>"),
        video_token_id=_id(tokenizer, "<|video_pad|>"),
        vision_start_token_id=_id(tokenizer, "<|vision_start|>"),
        vision_end_token_id=_id(tokenizer, "<|vision_end|>"),
    )
    images = transformers.Qwen2VLImageProcessorPil(
        size={"shortest_edge": 256, "longest_edge": 2048}, patch_size=4, merge_size=2, temporal_patch_size=2
    )

    processor = _for_pictures(transformers.Qwen2VLProcessor)(
        images, tokenizer, chat_template=_TEMPLATE.format(picture="<|vision_start|><|image_pad|><|vision_end|>")
    )
    return model(made), processor


SEEING: dict[str, Callable[[], tuple[transformers.PreTrainedModel, transformers.ProcessorMixin]]] = {
    "llava": _llava,
    "llava_next, tiles": _llava_next,
    "idefics3, tiles": _idefics3,
    "internvl, tiles": _internvl,
    "aya_vision, sliding windows": _aya_vision,
    "llava_onevision, tiles": _llava_onevision,
    "gemma3, pictures attend to themselves": _gemma3,
    "qwen2_vl, positions in three dimensions": lambda: _qwen(
        transformers.Qwen2VLConfig,
        transformers.Qwen2VLForConditionalGeneration,
        {"embed_dim": 16, "hidden_size": 32, "mlp_ratio": 2},
    ),
    "qwen2_5_vl": lambda: _qwen(
        transformers.Qwen2_5_VLConfig,
        transformers.Qwen2_5_VLForConditionalGeneration,
        {
            "hidden_size": 16, "intermediate_size": 32, "out_hidden_size": 32, "window_size": 16,
            "fullatt_block_indexes": [1],
        },
    ),
    "qwen3_vl": lambda: _qwen(
        transformers.Qwen3VLConfig,
        transformers.Qwen3VLForConditionalGeneration,
        {
            "hidden_size": 16, "intermediate_size": 32, "out_hidden_size": 32, "deepstack_visual_indexes": [0],
            "num_position_embeddings": 16,
        },
    ),
}  # fmt: skip

#: The families for tests that repeat over all: two, and the others in `full`.
EACH_SEEING = [
    family if family.startswith(("gemma3", "qwen2_vl")) else pytest.param(family, marks=pytest.mark.full)
    for family in SEEING
]


def save_seeing(family: str, folder: Path) -> Path:
    """Save a tiny model of that family, and its processor, and return the folder."""
    return _save(*(_paligemma if family == "paligemma" else SEEING[family])(), folder)


def save_clip(folder: Path) -> Path:
    """Save a tiny model like CLIP, and return the folder."""
    tokenizer = _tokenizer({})
    config = transformers.CLIPConfig(
        text_config={
            **{name: _TEXT[name] for name in _TEXT if name != "num_key_value_heads"},
            "max_position_embeddings": 77,
        },
        vision_config=_VISION,
        projection_dim=16,
    )
    images = transformers.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=_SIZE)
    return _save(transformers.CLIPModel(config), transformers.CLIPProcessor(images, tokenizer), folder)


def _save(model: transformers.PreTrainedModel, processor: transformers.ProcessorMixin, folder: Path) -> Path:
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.2 if parameter.dim() > 1 else parameter)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def a_picture(seed: int, width: int = 40, height: int = 32, format: str = "PNG") -> bytes:
    """Return the file of a picture whose pixels are drawn."""
    pixels = numpy.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=numpy.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format)
    return file.getvalue()
