"""A model that a user has opened with transformers, for as long as its attention is read."""

from collections.abc import Iterator
from contextlib import contextmanager

from transformers import PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from tertulia.models.local.attention_interface import use_implementation
from tertulia.models.local.causal import CausalLanguageModel
from tertulia.state.errors import AttentionUnavailableError, ModelError
from tertulia.state.language_model import LanguageModel, ModelTraits


@contextmanager
def opened_model(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Iterator[LanguageModel]:
    """Yield an open model as one of Tertulia's; afterwards it computes attention as it did before.

    Raises:
        AttentionUnavailableError: Its attention can't be computed exactly.
        ModelError: Its tokenizer has no fast form.
    """
    name = str(getattr(model.config, "_name_or_path", "") or type(model).__name__)
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise ModelError(f"the model {name!r} can't be used: its tokenizer has no fast form, which the grammar needs")
    text = model.config.get_text_config()
    before, was_training = text._attn_implementation, model.training
    window = getattr(text, "max_position_embeddings", None)
    traits = ModelTraits(context_window=window, layout="single_message", judge="rating")
    model.eval()
    try:
        try:
            yield CausalLanguageModel(name, model, tokenizer, traits)
        except AttentionUnavailableError as error:
            raise AttentionUnavailableError(f"the model {name!r} can't be used: {error}; take another model") from error
    finally:
        use_implementation(model, before)
        model.train(was_training)
