"""From a name to a model: the embedded one, a folder, or an id on the Hugging Face hub; nothing is loaded before."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from models import chat_names, embedded
from state.errors import AttentionUnavailableError, ModelError, NotFoundError, UsageError, nearest_hint
from state.language_model import Embedder, LanguageModel, ModelTraits, Report, ignore_activity
from state.parameters import Parameters

if TYPE_CHECKING:
    import torch

Precision = Literal["auto", "float32", "bfloat16", "float16"]
PRECISIONS: tuple[Precision, ...] = ("auto", "float32", "bfloat16", "float16")
REHEARSAL = "rehearsal"


def open_model(
    name: str,
    *,
    cache: Path,
    precision: Precision = "auto",
    limits: Parameters | None = None,
    key: str | None = None,
    report: Report | None = None,
) -> LanguageModel:
    """Return the language model of that name.

    Args:
        name: `smollm2` (embedded), `rehearsal` (a stand-in without weights), a folder, a hub id `owner/name`, or
            that of a remote model (see `models.chat.open_chat_model`).
        cache: Where converted models are kept.
        precision: Of the weights; `auto` takes what the hardware likes.
        limits: What a remote model is held to; the defaults where they are not given.
        key: The key of a remote model.
        report: Is called with what the model waits for, while it is opened and afterwards; maybe from another thread.

    Raises:
        NotFoundError: No model of that name.
        AttentionUnavailableError: Its attention can't be had exactly.
        ModelError: It can't be loaded.
    """
    if precision not in PRECISIONS:
        raise UsageError(f"unknown precision {precision!r}{nearest_hint(precision, PRECISIONS)}")
    if name == REHEARSAL:
        from models.rehearsal import RehearsalModel

        return RehearsalModel()
    if chat_names.is_chat_name(name):
        from models.chat import open_chat_model

        return open_chat_model(name, limits or Parameters(), key, report or ignore_activity)
    _quieten()
    if name == embedded.ID:
        return _open_folder(name, embedded.folder(cache), precision, embedded.TRAITS)
    if not Path(name).exists() and (name.startswith(("/", ".", "~")) or name.count("/") > 1):
        raise NotFoundError(f"no such folder: {name}")
    if "/" not in name and not Path(name).exists():
        raise NotFoundError(
            f"unknown model {name!r}{nearest_hint(name, (embedded.ID, REHEARSAL))}; "
            "a folder, a hub id such as owner/name, or openai:NAME works too"
        )
    return _open_folder(name, name, precision, None)


def rehearsal_of(name: str) -> LanguageModel:
    """Return a stand-in that is asked as the model of that name would be: laid out, judged and ended like it.

    Raises:
        UsageError: No remote model can have that name.
    """
    from models.rehearsal import RehearsalModel

    model = RehearsalModel()
    traits = embedded.TRAITS if name == embedded.ID else None
    if chat_names.is_chat_name(name):
        chat_names.check_chat_name(name)
        traits = chat_names.TRAITS
    if traits is not None:
        model.traits = replace(
            model.traits, layout=traits.layout, judge=traits.judge, ending=traits.ending, text_only=traits.text_only
        )
    return model


def open_embedder(name: str) -> Embedder:
    """Return the embedder of that name: `minilm` (embedded), `rehearsal`, a folder, or a hub id."""
    if name == REHEARSAL:
        from models.rehearsal import RehearsalEmbedder

        return RehearsalEmbedder()
    _quieten()
    from models.embedder import SentenceEmbedder

    return SentenceEmbedder.open(name)


def device_and_dtype(precision: Precision) -> tuple[str, "torch.dtype"]:
    """Return the device that is there and the precision that it likes."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if precision != "auto":
        return device, cast("torch.dtype", getattr(torch, precision))
    if device == "cuda":
        return device, torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    if device == "cpu" and torch.cpu._is_avx512_bf16_supported():
        return device, torch.bfloat16
    return device, torch.float32


def _quieten() -> None:
    """Keep the library's progress bars and advice out of the terminal; what matters comes back as an error."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def _open_folder(name: str, source: str | Path, precision: Precision, traits: ModelTraits | None) -> LanguageModel:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

    from models.causal import CausalLanguageModel

    device, dtype = device_and_dtype(precision)
    if Path(source).is_dir() and not (Path(source) / "config.json").exists():
        raise ModelError(f"the folder {source} holds no model: config.json is missing")
    try:
        config = AutoConfig.from_pretrained(source)
        model = AutoModelForCausalLM.from_pretrained(source, config=config, dtype=dtype).eval()
        model.to(torch.device(device))
        tokenizer = AutoTokenizer.from_pretrained(source)
    except (OSError, ValueError, KeyError, ImportError) as error:
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"the model {name!r} can't be loaded: {first_line}") from error
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise ModelError(f"the model {name!r} can't be used: its tokenizer has no fast form, which the grammar needs")
    if traits is None:
        window = getattr(config.get_text_config(), "max_position_embeddings", None)
        traits = ModelTraits(context_window=window, layout="single_message", judge="rating")
    try:
        return CausalLanguageModel(name, model, tokenizer, traits)
    except AttentionUnavailableError as error:
        raise AttentionUnavailableError(f"the model {name!r} can't be used: {error}; take another model") from error
