"""Translations of words that records hold in English."""

from collections.abc import Iterable

from tertulia.prompts.names import enumerated
from tertulia.prompts.templates import template
from tertulia.state.languages import DEFAULT


def translated(stored: str, language: str = DEFAULT) -> str:
    """Return a stored word in a language; the word itself if the language has no other."""
    texts = template("utterance", language)
    return texts.fill(f"words.{stored}", {}) if f"words.{stored}" in texts else stored


def translated_list(stored: Iterable[str], language: str = DEFAULT) -> str:
    """Return stored words in a language, as in a table: `shy, kind, slow`."""
    return enumerated([translated(text, language) for text in stored], language)


def stored_form(text: str, known: Iterable[str], language: str = DEFAULT) -> str:
    """Return the stored word that a model wrote in a language; the text itself if it is none of them."""
    return {translated(stored, language): stored for stored in known}.get(text, text)
