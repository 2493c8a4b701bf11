"""The platform of a model of this machine, as far as its digits depend on it."""

import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from tertulia.models.local.engine import ENGINE
from tertulia.state.language_model import Embedder, LanguageModel
from tertulia.state.records import Platform

#: Distributions that digits depend on.
_DISTRIBUTIONS = ("tertulia", "torch", "transformers")


def platform_of(models: Iterable[LanguageModel], embedder: Embedder | None = None) -> Platform | None:
    """Return the platform of models and embedder; `None` if all are stand-ins, or speak through a server."""
    embedding = getattr(embedder, "computation", None)
    platform = _platform_of_models(models)
    if platform is not None or embedding is None:
        return platform and platform.model_copy(update={"embedder": embedding})
    from tertulia.models.local.one_thread import instructions

    return Platform(
        device="cpu", precision="float32", threads=1, processor=instructions(), versions={}, embedder=embedding
    )


def _platform_of_models(models: Iterable[LanguageModel]) -> Platform | None:
    if "torch" not in sys.modules:
        return None
    import torch

    from tertulia.models.local.causal import CausalLanguageModel
    from tertulia.models.local.packed_linear import precision_of

    local = next((model for model in models if isinstance(model, CausalLanguageModel)), None)
    if local is None:
        return None
    device = local.model.device.type
    on_processor = device == "cpu"
    capability = torch.backends.cpu.get_cpu_capability
    versions = {name: found for name in _DISTRIBUTIONS if (found := _version(name)) is not None}
    return Platform(
        device=device,
        precision=precision_of(local.model),
        threads=torch.get_num_threads() if on_processor else None,
        processor=torch.cuda.get_device_name() if device == "cuda" else capability(),
        versions=versions | {"engine": ENGINE},
    )


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
