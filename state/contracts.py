"""Re-export of the contracts under the name that extensions for earlier versions import."""

from state.context import Broker, Context
from state.language_model import (
    Embedder,
    GenerationRequest,
    LanguageModel,
    ModelTraits,
    RenderedPrompt,
    ReplyField,
    ScoringOptions,
    Tokenizer,
)
from state.meeting import Start
from state.store import Recollection, Store

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
