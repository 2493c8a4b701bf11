"""The language of a run's prompts: the texts that determine it, and notes on prompts and models that lack it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tertulia.prompts.examples import examples
from tertulia.prompts.templates import has_templates, is_translated
from tertulia.state.album import Population
from tertulia.state.languages import DEFAULT, NAMES, language_by_words, languages_in_words, name_of
from tertulia.state.meeting import Meeting, Start
from tertulia.state.records import Case

if TYPE_CHECKING:
    from tertulia.state.context import Context
    from tertulia.state.language_model import LanguageModel


def texts_of(start: Start) -> Iterator[str]:
    """Yield the texts of a scenario about its people and their situation."""
    if isinstance(start, Population):
        yield from (value for villager in start.villagers for _, value in villager.properties)
        return
    if isinstance(start, Meeting):
        yield start.title
    yield start.place or ""
    yield start.description or ""
    for name in start.names:
        participant = start.participant(name)
        persona = participant.persona
        words = (persona.character, persona.occupation, persona.style, *persona.background, persona.lifestyle)
        yield from (text for text in words if text)
        yield from (memory.text for memory in participant.memories)


def notes_on_language(language: str) -> Iterator[str]:
    """Yield a note on a language that there are no prompts in, with those that there are prompts in."""
    if not has_templates(language):
        name = f"{NAMES[language]} ({language})" if language in NAMES else repr(language)
        yield (
            f"there are no prompts in {name}: they are in English, around the scenario's own words; there are prompts "
            f"in {languages_in_words()}"
        )


def notes_on_texts(start: Start, language: str) -> Iterator[str]:
    """Yield a note on a scenario with English prompts whose texts seem to be in another language with prompts."""
    found = language_by_words(texts_of(start)) if language == DEFAULT else None
    if found is not None and found != language:
        yield (
            f"its texts seem to be in {name_of(found)}, and its prompts are in English; write `language: {found}` for "
            f"prompts in {name_of(found)} (or --set language={found})"
        )


def language_notes(context: "Context") -> Iterator[str]:
    """Yield notes on English parts of a run's prompts, and on models that do not speak their language."""
    language = context.parameters.language
    yield from notes_on_language(language)
    if language != DEFAULT and has_templates(language):
        lacking = [template for template in _templates_of(context) if not _is_whole(template, language)]
        if lacking:
            yield f"prompts are in {name_of(language)} ({language}), but for what is English: {', '.join(lacking)}"
    for id, traits in {model.id: model.traits for model in _models_of(context)}.items():
        if traits.languages is not None and language not in traits.languages:
            spoken = " and ".join(map(name_of, traits.languages))
            yield (
                f"{id} speaks {spoken} only: what it writes in {name_of(language)} can't be relied on; "
                "take another model with --model"
            )
    yield from _notes_on_embedder(context)


def _notes_on_embedder(context: "Context") -> Iterator[str]:
    """Yield a note on an embedder that can't read a scenario with memories: it can't tell which of them fit."""
    from tertulia.metrics.legibility import MULTILINGUAL, likeness_in_words, unread

    start = context.start
    if isinstance(start, Population):
        return
    memories = {name: [memory.text for memory in start.participant(name).memories] for name in start.names}
    found = unread({name: [" ".join(texts)] for name, texts in memories.items()}, context.embedder.embed)
    if found:
        yield (
            f"memories are retrieved by {context.embedder.id}, which can't read those of {', '.join(found)}: "
            f"{likeness_in_words(max(found.values()))}; so chance nearly decides which of them come to mind; "
            f"begin again with an embedder that can (--set embedder={MULTILINGUAL}), or give each person only as many "
            "as a prompt takes"
        )


def _is_whole(name: str, language: str) -> bool:
    return examples().keys() <= examples(language).keys() if name == "examples" else is_translated(name, language)


def _models_of(context: "Context") -> list["LanguageModel"]:
    return [context.model, *(model for model, _ in context.participant_models.values())]


def _templates_of(context: "Context") -> Iterator[str]:
    """Yield the names of the files that a run's prompts are filled from."""
    parameters = context.parameters
    is_album_chat = isinstance(context.start, Population)
    yield "album" if is_album_chat else "utterance"
    if parameters.layout == "chat_turns":
        yield from ("examples",) if is_album_chat else ("chat_turns", "examples")
    if parameters.generation != "single":
        yield parameters.generation
    if parameters.may_remove and parameters.judge == "rating":
        yield "judge"
    if parameters.may_remove and parameters.revision in ("rewrite", "combined"):
        yield "revise"
    if parameters.ending == "continuation":
        yield "ending"
    if any(model.traits.text_only for model in _models_of(context)):
        yield "shape"
    if isinstance(context.start, Case) and context.start.initiator.stream is not None:
        yield from ("town", "cognition")
    if isinstance(context.start, Meeting):
        yield from ("group", "cognition")
        if parameters.choices == "probabilities":
            yield "choices"
