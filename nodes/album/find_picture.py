"""Find the picture that a plan means: the one that it names, or else the most similar of the album."""

from collections.abc import Sequence

import numpy as np
from langgraph.runtime import Runtime

from tertulia.nodes.album.album_prompts import save_prompt_of, sight_of
from tertulia.nodes.utterance.candidates import candidate_at
from tertulia.state.album import Found, Picture
from tertulia.state.context import Context
from tertulia.state.graph_state import ExchangeState, UtteranceOutput
from tertulia.state.words import words

#: Words that captions begin with, and plans often with another of them.
_ARTICLES = frozenset({"a", "an", "the"})


async def find_picture(state: ExchangeState, runtime: Runtime[Context]) -> ExchangeState:
    """Find the picture of the plan, and store the prompt of the question about it."""
    context, asker = runtime.context, state["asker"]
    plan = candidate_at(context, state["turn"], state["chosen"], "plan").text
    album = [context.population.picture(id) for id in state["belongings"][asker]["album"]]
    found: Found = "named"
    picture, similarity = named_picture(plan, album), None
    if picture is None:
        found, (picture, similarity) = "similar", most_similar(plan, album, context)
    return {
        "part": "",
        "prompt": save_prompt_of(state, context, "question", asker, picture.id),
        "picture": picture.id,
        "found": found,
        "similarity": similarity,
        "sight": sight_of(context.of(asker), picture.id),
        "utterances": {"plan": outcome_of(state)},
    }


def named_picture(plan: str, album: Sequence[Picture]) -> Picture | None:
    """Return the picture of an album that a plan names first; of those that begin there, the longest name.

    A variant that the plan names as well tells pictures of one caption apart; else it is the latest of them.
    """
    plan_words, named = _folded(plan), []
    for place, picture in enumerate(album):
        caption = _folded(picture.caption)
        at = _place_of(caption, plan_words)
        if at is not None:
            has_variant = picture.variant is not None and _place_of(_folded(picture.variant), plan_words) is not None
            named.append(((-at, len(caption), has_variant, place), picture))
    return max(named, key=lambda ranked: ranked[0])[1] if named else None


def most_similar(plan: str, album: Sequence[Picture], context: Context) -> tuple[Picture, float]:
    """Return the picture of an album that is most similar to a plan, and the cosine: by itself, or by its caption."""
    finder, files = context.picture_finder, [picture.file for picture in album]
    if finder is not None and all(files):
        cosines = finder.find(plan, [context.store.picture(file.hash) for file in files if file is not None])
    else:
        vectors = np.array(context.embedder.embed([plan, *(picture.described for picture in album)]))
        cosines = (vectors[1:] @ vectors[0]).tolist()
    best = max(range(len(album)), key=lambda place: cosines[place])
    return album[best], cosines[best]


def outcome_of(state: ExchangeState) -> UtteranceOutput:
    """Return how the last utterance of an exchange came about."""
    return {key: state[key] for key in UtteranceOutput.__annotations__}  # type: ignore[literal-required, return-value]


def _folded(text: str) -> list[str]:
    return [word for word in map(str.casefold, words(text)) if word not in _ARTICLES]


def _place_of(wanted: list[str], text: list[str]) -> int | None:
    """Return the index of the first of these words in a text; `None` if they do not occur."""
    length = len(wanted)
    places = (at for at in range(len(text) - length + 1) if text[at : at + length] == wanted)
    return next(places, None) if length else None
