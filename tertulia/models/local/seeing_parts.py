"""The parts of a model that sees: which of it is the language part, and the processor of its pictures."""

from typing import Any, cast

from transformers import PreTrainedConfig, PreTrainedModel, ProcessorMixin
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING

from tertulia.models.local.sight import PictureProcessor
from tertulia.state.errors import ModelError
from tertulia.state.text import first_line


def language_paths(model: PreTrainedModel) -> tuple[str, ...]:
    """Return how the paths of the modules begin that read and write text."""
    decoder = model.get_decoder()
    path = next(path for path, module in model.named_modules() if module is decoder)
    return f"{path}.", "lm_head"


def load_processor_if_seeing(source: str, config: PreTrainedConfig, **options: Any) -> PictureProcessor | None:
    """Return the processor of a model's pictures; `None` for a model that reads text alone.

    A model that can do both is opened for text if the processor is missing. Options are those of `from_pretrained`.

    Raises:
        OSError, ValueError: It can't be loaded, or it needs a package that is not installed.
    """
    if type(config) not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        return None
    can_do_without = type(config) in MODEL_FOR_CAUSAL_LM_MAPPING
    try:
        return _load_processor(source, config, **options)
    except OSError:
        if can_do_without:
            return None
        raise
    except (ModelError, ValueError, ImportError, TypeError, AttributeError, KeyError) as error:
        if can_do_without:
            return None
        raise ValueError(first_line(error)) from error


def _load_processor(source: str, config: PreTrainedConfig, **options: Any) -> PictureProcessor:
    """Return the processor, without its part for videos: that alone would need torchvision."""
    if type(config) not in PROCESSOR_MAPPING:
        raise ModelError(f"transformers knows no processor of pictures for it ({config.model_type})")
    known = cast(type[ProcessorMixin], PROCESSOR_MAPPING[type(config)])
    attributes = [name for name in known.get_attributes() if name != "video_processor"]
    for_pictures: type[ProcessorMixin] = type(
        known.__name__, (known,), {"get_attributes": classmethod(lambda _: list(attributes)), "video_processor": None}
    )
    return PictureProcessor(for_pictures.from_pretrained(source, backend="pil", **options))
