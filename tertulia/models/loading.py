"""From a name to a model: the embedded model, a folder, a hub id, a remote model, or the rehearsal.

Libraries are imported, and weights loaded, when a model is opened and not before.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from tertulia.models.local import embedded
from tertulia.models.local.adapters import (
    Adapters,
    find_adapters,
    hash_of_base,
    merge_adapters,
    read_adapters,
    split_name,
)
from tertulia.models.local.hub import asked_for_adapters, load, quiet_libraries, uncollected
from tertulia.models.served import chat_names
from tertulia.state.errors import (
    AttentionUnavailableError,
    ModelError,
    NotFoundError,
    TrustError,
    UsageError,
    nearest_hint,
)
from tertulia.state.kept_vectors import KeptVectors
from tertulia.state.language_model import (
    EMBEDDER,
    REHEARSAL,
    Embedder,
    LanguageModel,
    ModelTraits,
    Report,
    ignore_activity,
)
from tertulia.state.parameters import Parameters
from tertulia.state.parameters.model import ModelWeights
from tertulia.state.picture_finder import PictureFinder
from tertulia.state.text import first_line

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from tertulia.models.local.causal import CausalLanguageModel
    from tertulia.models.local.sight import PictureProcessor

T = TypeVar("T")

Precision = Literal["auto", "float32", "bfloat16", "float16"]
PRECISIONS: tuple[Precision, ...] = ("auto", "float32", "bfloat16", "float16")

#: Beginnings of the names of hosted models, with their providers.
_HOSTED = {
    **dict.fromkeys(("gpt", "chatgpt", "o1", "o3", "o4"), "openai"),
    **{"claude": "anthropic", "gemini": "google_genai", "mistral": "mistralai", "grok": "xai", "deepseek": "deepseek"},
}


def open_model(
    name: str,
    *,
    cache: Path,
    precision: Precision = "auto",
    limits: Parameters | None = None,
    key: str | None = None,
    report: Report | None = None,
    may_download: bool = True,
    with_code: bool = False,
    recorded_as: str | None = None,
) -> LanguageModel:
    """Return the language model of that name.

    Args:
        name: `smollm2` (embedded, with its voice), `smollm2:plain` (without), `rehearsal` (a stand-in without
            weights), a folder, a hub id `owner/name`, any of these with adapters (`BASE+FOLDER`, `BASE+NAME`), or that
            of a remote model (see `served.chat.open_chat_model`).
        cache: The folder of converted models, and of adapters by name.
        precision: Of the weights; `auto` chooses the one that suits the hardware.
        limits: The limits of a remote model; `None`: the defaults.
        report: Is called with the cause of a wait, while the model is opened and afterwards; maybe from another thread.
        may_download: Whether a model that is not on this machine is fetched from the hub.
        with_code: Whether Python code that comes with the model is executed.
        recorded_as: The name by which runs know a remote model (`served.chat.open_chat_model`), or the embedded one.

    Raises:
        NotFoundError: No model of that name.
        AttentionUnavailableError: Its attention can't be computed exactly.
        ModelError: It can't be loaded.
    """
    if precision not in PRECISIONS:
        raise UsageError(f"unknown precision {precision!r}{nearest_hint(precision, PRECISIONS)}")
    report = report or ignore_activity
    if name == REHEARSAL:
        from tertulia.models.rehearsal import RehearsalModel

        return RehearsalModel()
    if chat_names.is_chat_name(name):
        with uncollected():
            from tertulia.models.served.chat import open_chat_model

            return open_chat_model(name, limits or Parameters(), key, report, recorded_as)
    base, adapters = with_adapters(name, cache)
    if embedded.is_embedded(base):
        return _open_embedded(recorded_as or name, name, precision, cache, report, adapters)
    check_model(base)
    with quiet_libraries():
        return _open_causal(name, base, precision, None, report, may_download, with_code, adapters, cache=cache)


def check_model(name: str) -> None:
    """Refuse a name that no language model can have, before anything is loaded or asked.

    Raises:
        NotFoundError: There is no such folder, or no model of that name.
        UsageError: No remote model can have that name.
    """
    if chat_names.is_chat_name(name):
        chat_names.check_chat_name(name)
        return
    base = name if Path(name).exists() else split_name(name)[0]
    if base != REHEARSAL and not embedded.is_embedded(base):
        _require_source(base, _meant(base), "a folder, a hub id such as owner/name, or openai:NAME")


def _meant(name: str) -> str:
    """Return a hint at the model that an unknown name was to be: a shipped one, or one of a provider."""
    of = next((provider for beginning, provider in _HOSTED.items() if name.casefold().startswith(beginning)), None)
    return nearest_hint(name, (f"{of}:{name}",) if of else (embedded.ID, REHEARSAL))


def with_adapters(name: str, cache: Path) -> tuple[str, Adapters | None]:
    """Return the model of a name, and the adapters that go with it: those named, or the shipped voice."""
    if Path(name).exists():
        return name, None
    base, named = split_name(name)
    if named is not None:
        return base, read_adapters(find_adapters(named, cache))
    return base, read_adapters(embedded.VOICE) if base == embedded.ID else None


def is_hub_id(name: str) -> bool:
    """Return whether a name is that of a model on the hub, `owner/name`, and of no folder here."""
    return bool(re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", name)) and not Path(name).exists()


def rehearsal_of(name: str) -> LanguageModel:
    """Return a stand-in with the layout, judge and ending of the model of that name.

    Raises:
        UsageError: No remote model can have that name.
    """
    from tertulia.models.rehearsal import RehearsalModel

    model = RehearsalModel()
    traits = embedded.traits_of(name) if embedded.is_embedded(name) else None
    if chat_names.is_chat_name(name):
        chat_names.check_chat_name(name)
        traits = chat_names.TRAITS
    if traits is not None:
        names = ("layout", "judge", "ending", "lengths", "choices", "text_only")
        model.traits = replace(model.traits, **{name: getattr(traits, name) for name in names})
    return model


def check_embedder(name: str) -> None:
    """Refuse a name that no embedder can have, before anything is loaded.

    Raises:
        NotFoundError: There is no such folder, or no embedder of that name.
    """
    if name not in (EMBEDDER, REHEARSAL):
        _require_source(name, nearest_hint(name, (EMBEDDER, REHEARSAL)), kind="embedder")


def open_embedder(name: str, report: Report | None = None, kept: KeptVectors | None = None) -> Embedder:
    """Return the embedder of that name.

    Args:
        name: `minilm` (embedded), `rehearsal` (a stand-in without weights), a folder, or a hub id `owner/name`.
        kept: Known vectors of `minilm`, to which new ones are added; with them, it is loaded when one is missing.

    Raises:
        NotFoundError: There is no such folder, or no embedder of that name.
        ModelError: It can't be loaded.
    """
    check_embedder(name)
    if name == REHEARSAL:
        from tertulia.models.rehearsal import RehearsalEmbedder

        return RehearsalEmbedder()
    from tertulia.models.local.embedder import SentenceEmbedder

    return SentenceEmbedder.open(name, report or ignore_activity, kept)


def open_picture_finder(
    name: str, *, report: Report | None = None, may_download: bool = True, with_code: bool = False
) -> PictureFinder:
    """Return the finder of pictures by a model like CLIP or SigLIP, of a folder or a hub id (see `open_model`).

    Raises:
        NotFoundError: No model of that name.
        ModelError: It can't be loaded, or does not compare texts with pictures.
    """
    _require_source(name, "")
    with quiet_libraries():
        from tertulia.models.local.picture_finder import ClipPictureFinder, load_clip

        device, _ = device_and_dtype("auto")
        model, processor = _load_parts(
            name,
            lambda local: load_clip(name, device, with_code=with_code, local_files_only=local),
            remedy="name a folder with the model, or leave picture_model unset",
            report=report or ignore_activity,
            may_download=may_download,
            with_code=with_code,
        )
        return ClipPictureFinder(name, model, processor)


def device_and_dtype(precision: Precision) -> tuple[str, "torch.dtype"]:
    """Return the device of this machine, and the given precision or the one that suits the device.

    A processor that has no units for bfloat16 takes weights in half precision, and computes in float32.
    """
    import torch

    from tertulia.models.local.packed_linear import computes_with_half_weights

    device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if precision != "auto":
        return device, cast("torch.dtype", getattr(torch, precision))
    if device == "cuda":
        return device, torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    if device == "cpu" and torch.cpu._is_avx512_bf16_supported():
        return device, torch.bfloat16
    return device, torch.float16 if device == "cpu" and computes_with_half_weights() else torch.float32


def _weights_here(precision: Precision) -> tuple[str, "torch.dtype", bool]:
    """Return the device, the precision of its weights, and whether products keep them in half precision."""
    import torch

    from tertulia.models.local.packed_linear import computes_with_half_weights

    device, dtype = device_and_dtype(precision)
    half = device == "cpu" and dtype == torch.float16 and computes_with_half_weights()
    return device, torch.float32 if half else dtype, half


def _open_embedded(
    name: str,
    opened: str,
    precision: Precision,
    cache: Path,
    report: Report,
    adapters: Adapters | None,
) -> LanguageModel:
    """Return the embedded model, without transformers if this processor and the kept files allow it."""
    folder, traits = embedded.folder(cache, report), embedded.traits_of(opened)
    bare = _open_bare(name, folder, precision, traits, adapters)
    if bare is not None:
        return bare
    with quiet_libraries():
        return _open_causal(name, str(folder), precision, traits, report, adapters=adapters, cache=cache)


def _open_bare(
    name: str, folder: Path, precision: Precision, traits: ModelTraits, adapters: Adapters | None
) -> LanguageModel | None:
    """Return the model in a folder as a bare one; `None` if transformers must open it.

    That its attention is exact is checked once on a machine (`local.kept_checks`), which takes transformers.
    """
    with uncollected():
        from tertulia.models.local.attention_scores import probe_by_definition, require_attention_of
        from tertulia.models.local.bare_opening import read_bare
        from tertulia.models.local.causal import CausalLanguageModel
        from tertulia.models.local.kept_checks import KeptCheck

        device, dtype, half = _weights_here(precision)
        read = read_bare(folder, dtype, adapters, half=half) if device == "cpu" else None
        if read is None:
            return None
        model, tokenizer = read
        check = KeptCheck(folder, dtype, adapters, half=half)
        windows = check.windows()
        if windows is None:
            with quiet_libraries(), _named_reason(name):
                by_transformers, *_ = _load_causal(str(folder), precision, True, False, adapters)
                windows = require_attention_of(model, probe_by_definition(by_transformers))
            check.keep(windows)
        weights = _weights(name, str(folder), adapters)
        opened = CausalLanguageModel(name, model, tokenizer, traits, None, weights, windows)
        return _with_head_weights(opened, name, str(folder), adapters, folder.parent)


def _open_causal(
    name: str,
    source: str,
    precision: Precision,
    traits: ModelTraits | None,
    report: Report,
    may_download: bool = False,
    with_code: bool = False,
    adapters: Adapters | None = None,
    *,
    cache: Path,
) -> LanguageModel:
    """Return the model in a folder or of a hub id; its traits follow its configuration if they are not given."""
    from transformers import PreTrainedTokenizerFast

    from tertulia.models.local.causal import CausalLanguageModel

    model, tokenizer, processor = _load_parts(
        name,
        lambda local: _load_causal(source, precision, local, with_code, adapters),
        remedy="name a folder with the model, or take model='smollm2'",
        report=report,
        may_download=may_download,
        with_code=with_code,
        source=source,
    )
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise ModelError(f"the model {name!r} can't be used: its tokenizer has no fast form, which the grammar needs")
    if traits is None:
        window = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        sees = processor is not None
        traits = ModelTraits(context_window=window, layout="single_message", judge="rating", sees_pictures=sees)
    weights = _weights(name, source, adapters)
    with _named_reason(name):
        opened = CausalLanguageModel(name, model, tokenizer, traits, processor, weights)
    return _with_head_weights(opened, name, source, adapters, cache)


def _with_head_weights(
    model: "CausalLanguageModel", name: str, source: str, adapters: Adapters | None, cache: Path
) -> LanguageModel:
    """Return an open model with the learned weights of its attention heads, if it has some; else Eq. 1 scores."""
    from tertulia.models.local.head_weights import find_head_weights, fingerprint_of

    model.fingerprint = fingerprint_of(split_name(name)[0], source, adapters, model.tokenizer)
    weights = find_head_weights(model.fingerprint, cache)
    reducer = "sum-mean" if weights is None and model.traits.reducer == "learned" else model.traits.reducer
    model.traits = replace(model.traits, head_weights=weights, reducer=reducer)
    return model


def _weights(name: str, source: str, adapters: Adapters | None) -> ModelWeights | None:
    """Return the origin of a model's weights, if it has adapters."""
    if adapters is None:
        return None
    base, named = split_name(name)
    return ModelWeights(
        base=embedded.PLAIN if embedded.is_embedded(base) else base,
        base_hash=hash_of_base(source),
        adapters=named or "shipped",
        adapters_hash=adapters.hash,
    )


@contextmanager
def _named_reason(name: str) -> Iterator[None]:
    """Add to an error about unavailable attention the model's name and a remedy."""
    try:
        yield
    except AttentionUnavailableError as error:
        raise AttentionUnavailableError(f"the model {name!r} can't be used: {error}; take another model") from error


def _require_source(
    name: str, hint: str, works: str = "a folder, or a hub id such as owner/name,", kind: str = "model"
) -> None:
    if not Path(name).exists() and (name.startswith(("/", ".", "~")) or name.count("/") > 1):
        raise NotFoundError(f"no such folder: {name}")
    if not name or ("/" not in name and not Path(name).exists()):
        raise NotFoundError(f"unknown {kind} {name!r}{hint}; {works} works too")


def _load_parts(
    name: str,
    loader: Callable[[bool], T],
    *,
    remedy: str,
    report: Report,
    may_download: bool,
    with_code: bool,
    source: str | None = None,
) -> T:
    """Return the parts of a model from a loader (`local.hub.load`); errors about its files become a ModelError."""
    source = source or name
    if Path(source).is_dir() and not (Path(source) / "config.json").exists():
        raise ModelError(f"the folder {source} holds no model: config.json is missing")
    from safetensors import SafetensorError

    try:
        return load(source, loader, remedy=remedy, report=report, may_download=may_download)
    except (OSError, ValueError, KeyError, ImportError, SafetensorError) as error:
        if not with_code and "trust_remote_code" in str(error):
            raise TrustError(
                f"the model {name!r} needs Python code of its own, which is not executed; if you know what it does, "
                f"name it on the command line: --trust-remote-code {shlex.quote(name)}"
            ) from error
        raise ModelError(f"the model {name!r} can't be loaded: {first_line(error) or type(error).__name__}") from error


def _load_causal(
    source: str,
    precision: Precision,
    local_files_only: bool,
    with_code: bool,
    adapters: Adapters | None,
) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase", "PictureProcessor | None"]:
    """Return model and tokenizer of a folder or of a hub id, and the processor of its pictures if it sees.

    Code that comes with them is executed only `with_code`.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, AutoTokenizer

    from tertulia.models.local.lean_parts import use_lean_passes
    from tertulia.models.local.packed_linear import pack_linear_layers
    from tertulia.models.local.seeing_parts import language_paths, load_processor_if_seeing

    device, dtype, half = _weights_here(precision)
    # Never left out: transformers would then ask on standard input, from which a seat's answers come.
    options: dict[str, Any] = {"trust_remote_code": with_code, "local_files_only": local_files_only}
    config = AutoConfig.from_pretrained(source, **options)
    # A file could name a kernel of the hub here, which is code.
    config._attn_implementation = config._experts_implementation = None
    processor = load_processor_if_seeing(source, config, **options)
    kind = AutoModelForCausalLM if processor is None else AutoModelForImageTextToText
    of_weights = {**options, "adapter_kwargs": asked_for_adapters(local_files_only)}
    model = kind.from_pretrained(source, config=config, dtype=dtype, **of_weights).eval()
    if adapters is not None:
        merge_adapters(model, adapters)
    model.to(torch.device(device))
    use_lean_passes(model, half=half)
    pack_linear_layers(model, ("",) if processor is None else language_paths(model), half=half)
    tokenizer = AutoTokenizer.from_pretrained(source, **options) if processor is None else processor.tokenizer
    return model, tokenizer, processor
