"""Re-export of the contracts under the name that extensions for earlier versions import."""

from tertulia.state.context import Broker, Context
from tertulia.state.language_model import (
    Embedder,
    GenerationRequest,
    LanguageModel,
    ModelTraits,
    RenderedPrompt,
    ReplyField,
    ScoringOptions,
    Tokenizer,
)
from tertulia.state.meeting import Start
from tertulia.state.store import Recollection, Store

__all__ = [
    "Broker",
    "Context",
    "Embedder",
    "GenerationRequest",
    "LanguageModel",
    "ModelTraits",
    "Recollection",
    "RenderedPrompt",
    "ReplyField",
    "ScoringOptions",
    "Start",
    "Store",
    "Tokenizer",
]
