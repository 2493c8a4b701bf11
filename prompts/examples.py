"""Example answers, drawn from a set for each question, so that no single one rules a small model's answers.

Models that learn from examples see one made-up answer before they are asked, and take after it.
"""

import random
from functools import lru_cache
from importlib import resources
from typing import Any

from tertulia.prompts.templates import read_yaml
from tertulia.state.languages import DEFAULT


def draw_example(question: str, generator: random.Random, language: str = DEFAULT) -> Any:
    """Return an example answer to a question of `examples.yaml`: an object, or the values of a list of fields."""
    return generator.choice(_of_language(question, language))


def exchanges(language: str = DEFAULT) -> list[tuple[str, str]]:
    """Return example questions and replies of talk; in English for a language without examples."""
    return [(asked, replied) for asked, replied in _of_language("exchange", language)]


def album_exchanges(call: str, setting: str, language: str = DEFAULT) -> list[tuple[str, str]]:
    """Return example questions and replies for a call of an album chat."""
    return [(asked, replied) for asked, replied in _of_language("album", language)[call][setting]]


def draw_switch(mechanism: str, generator: random.Random, language: str = DEFAULT) -> tuple[bool, str] | None:
    """Return whether a shipped mechanism is on in an example, and why: on as often as off; `None` for others."""
    reasons = _of_language("switches", language).get(mechanism)
    if reasons is None:
        return None
    active = generator.random() < 0.5
    return active, generator.choice(reasons["on" if active else "off"])


@lru_cache
def examples(language: str = DEFAULT) -> dict[str, Any]:
    """Return the example answers of a language, by question, as its `examples.yaml` has them."""
    folder = resources.files("tertulia.prompts") / "templates"
    file = (folder if language == DEFAULT else folder / language) / "examples.yaml"
    if not file.is_file():
        return {}
    read: dict[str, Any] = read_yaml(file.read_text(encoding="utf-8"))
    return read


def _of_language(question: str, language: str) -> Any:
    return examples(language).get(question) or examples()[question]
