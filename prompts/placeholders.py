"""Text of a form or a play that is no speech: `what Maria Lopez says`, and `Maria Lopez:` before it."""

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from tertulia.state.language_model import ReplyField
from tertulia.state.records import Prompt
from tertulia.state.text import folded_words

_PAIR = re.compile(r'("(?:[^"\\]|\\.)*")\s*:\s*("(?:[^"\\]|\\.)*")')
_LABEL = re.compile(r"\s*(\w[^:：]*?)\s*[:：]\W*")
_OWNER = re.compile(r".*['’]s(?= )")
#: The fewest words of a form that are taken for its beginning: with one, every sentence with `what` would begin so.
_FEWEST = 2
#: The fewest letters of a word that are taken for its beginning.
_FEWEST_LETTERS = 3
#: The most words of a name.
_LONGEST_NAME = 4
#: The least likeness of a word to the one of a short form that it replaces.
_ALIKE = 0.75


def form_of(prompt: Prompt | None) -> dict[str, str]:
    """Return the texts of the form that a prompt's output instruction shows, by key."""
    units = prompt.units if prompt is not None else ()
    texts = (unit.text for unit in units if unit.block == "output_instruction")
    return {key: value for text in texts for key, value in _pairs(text)}


@lru_cache(maxsize=256)  # the same for all replies of a speaker
def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((json.loads(key), json.loads(value)) for key, value in _PAIR.findall(text))


def is_placeholder(text: str, placeholder: str | None) -> bool:
    """Return whether a text is a placeholder: its words, a beginning of them, or nearly they, before any other text.

    A question or a call that is only the beginning (`What, Maria?`) may be said.
    """
    _, label, behind = text.partition(":")
    return _is_form(text, placeholder) or (bool(label) and _is_form(behind, placeholder))  # behind the speaker's name


def _is_form(text: str, placeholder: str | None) -> bool:
    words, form = folded_words(text), folded_words(placeholder or "")
    if not form or not words:
        return bool(placeholder) and bool(text.strip()) and form == words  # dots for a form of dots
    if words[: len(form)] == form and (words == form or len(form) > _FEWEST):
        return True
    if continues_placeholder(text, placeholder):
        return not text.rstrip("\"'”’) ").endswith(("?", "!", "？", "！"))
    return _is_nearly(words, form, is_owned=_words_of_owner(placeholder) > 0)


def continues_placeholder(text: str, placeholder: str | None) -> bool:
    """Return whether a text has begun with words of a placeholder and so far none of its own.

    The last may be unfinished, else a name that was refused at its end would get other letters; but one or two letters
    are words by themselves (`What a pleasure`, for any name of Anna). If a form begins with its owner (`Maria
    Lopez's utterance`), a name alone may be said. A form of dots begins with dots.
    """
    words, form = folded_words(text), folded_words(placeholder or "")
    if not form:
        return bool(placeholder) and text.lstrip().startswith(("…", "."))
    fewest = max(_FEWEST, _words_of_owner(placeholder) + 1)
    if not words or not min(fewest, len(form)) <= len(words) <= len(form):
        return False
    last, expected = words[-1], form[len(words) - 1]
    is_unfinished = len(last) >= _FEWEST_LETTERS and expected.startswith(last)
    return words[:-1] == form[: len(words) - 1] and (last == expected or is_unfinished)


def is_label(text: str, prompt: Prompt | None) -> bool:
    """Return whether a text so far is a name of the prompt and a colon, as before a line of a play."""
    found = _LABEL.fullmatch(text)
    if found is None or prompt is None:
        return False
    words = found[1].split()
    is_name = len(words) <= _LONGEST_NAME and all(word[0].isalpha() and not word[0].islower() for word in words)
    return is_name and any(found[1] in unit.text for unit in prompt.units)


def says_only_placeholders(fields: Iterable[ReplyField], values: Mapping[str, object], form: Mapping[str, str]) -> bool:
    """Return whether all speech of a reply is the form's: the reply fills nothing in."""
    speech = [(str(values.get(field.name, "")), field.name) for field in fields if field.kind == "speech"]
    return bool(speech) and all(is_placeholder(text, form.get(name)) for text, name in speech)


def _words_of_owner(placeholder: str | None) -> int:
    """Return how many words of a form name its owner, `Maria`, `Lopez` and `s`; 0 if none do."""
    found = _OWNER.match(placeholder or "")
    return 0 if found is None else len(folded_words(found[0]))


def _is_nearly(words: list[str], form: list[str], is_owned: bool) -> bool:
    """Return whether words are those of a form but for one that is another, or but for some in the middle.

    Args:
        is_owned: Whether the form names its owner: then another word must be much like it, as a name and a thing of
            theirs may be said.
    """
    if len(words) <= _FEWEST:
        return False
    if len(words) < len(form):
        rest = iter(form)
        return (words[0], words[-1]) == (form[0], form[-1]) and all(word in rest for word in words)
    other = [pair for pair in zip(words, form, strict=False) if pair[0] != pair[1]]
    if len(words) > len(form) or len(other) != 1:
        return False
    ((word, expected),) = other
    return (len(form) > _FEWEST + 1 and not is_owned) or difflib.SequenceMatcher(None, word, expected).ratio() >= _ALIKE
