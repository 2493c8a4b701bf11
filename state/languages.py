"""Languages of scenarios: their codes (ISO 639-1), and which of them a text seems to be written in."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Annotated

from pydantic import BeforeValidator
from pydantic_core import PydanticKnownError

#: English names of languages, for messages.
NAMES = {
    "ar": "Arabic",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}

#: The names of languages with prompts, in these languages.
_OWN_NAMES = {"deutsch": "de", "español": "es", "castellano": "es", "français": "fr", "中文": "zh", "汉语": "zh"}

#: Languages that prompts are in: English, and the folders of `prompts/templates/`.
WITH_PROMPTS = ("en", "de", "es", "fr", "zh")

#: The language of a start that names none, and whose texts are in no script that tells.
DEFAULT = "en"

#: Letters of the scripts that tell a language, or nearly. A sign of the first two holds about as much as three letters.
_KANA, _HAN = re.compile(r"[\u3041-\u30ff]"), re.compile(r"[\u3400-\u9fff\U00020000-\U0003ffff]")
_LETTERS = {
    "ko": re.compile(r"[\uac00-\ud7a3]"),
    "th": re.compile(r"[\u0e01-\u0e2e]"),
    "ar": re.compile(r"[\u0620-\u06d3]"),
    "he": re.compile(r"[\u05d0-\u05ea]"),
    "hi": re.compile(r"[\u0904-\u0939]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "el": re.compile(r"[\u0370-\u03ff]"),
}
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_SIGN_WEIGHT = 3

#: Common words of these languages that their neighbours, such as Portuguese and Italian, do not have.
_COMMON = {
    "en": "the and of to is that was for with his her they have has not but from this are will",
    "de": "der das und ist nicht ein eine mit für auf sich dem zu auch wird von sie hat",
    "es": "el los las y más pero muy hay fue son ya también sus ella hasta desde según",
    "fr": "les des une est dans pour avec pas au du et qui elle ses aux cette mais nous",
}
_COMMON_WORDS = {language: frozenset(words.split()) for language, words in _COMMON.items()}
_WORD, _FEWEST_WORDS = re.compile(r"[^\W\d_]+"), 5


def read_language(value: object) -> str:
    """Return the code of a language: `zh` for `zh`, `zh-CN`, `Chinese`, `中文`; `ValueError` for anything else."""
    if not isinstance(value, str):  # YAML's `no` is not Norwegian
        raise PydanticKnownError("string_type")
    given = unicodedata.normalize("NFC", value).strip()
    by_name = {name.casefold(): code for code, name in NAMES.items()} | _OWN_NAMES
    code = by_name.get(given.casefold()) or re.split("[-_]", given)[0].lower()
    if not re.fullmatch("[a-z]{2,3}", code):
        raise ValueError(f"{given!r} is no code of a language (ISO 639-1); there are prompts in {languages_in_words()}")
    return code


#: A language as users name it.
Language = Annotated[str, BeforeValidator(read_language, json_schema_input_type=str)]


def name_of(language: str) -> str:
    """Return the English name of a language; its code if that is all that is known."""
    return NAMES.get(language, language)


def language_by_words(texts: Iterable[str]) -> str | None:
    """Return which of English, German, Spanish and French texts seem to be in, by their common words.

    `None` if too few of them tell, or not clearly. It is good for a hint: a run's language is set, or told by its
    script (`language_of`).
    """
    words = _WORD.findall("\n".join(texts).casefold())
    counts = {language: sum(word in common for word in words) for language, common in _COMMON_WORDS.items()}
    language, second = sorted(counts, key=lambda code: counts[code], reverse=True)[:2]
    is_clear = counts[language] >= max(_FEWEST_WORDS, 2 * counts[second])
    return language if is_clear else None


def languages_in_words() -> str:
    """Return the languages that there are prompts in, as in a sentence: `English (en), German (de) and …`."""
    *first, last = (f"{name_of(language)} ({language})" for language in WITH_PROMPTS)
    return f"{', '.join(first)} and {last}"


def language_of(texts: Iterable[str]) -> str:
    """Return the language that texts seem to be in, by the script that most of them is written in.

    Languages in Latin letters are not told from each other: they all count as the default. Cyrillic, Arabic and
    Devanagari letters count as the largest language that is written in them.
    """
    text = "\n".join(texts)
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    counts = {language: len(letters.findall(text)) for language, letters in _LETTERS.items()}
    # Japanese has some Chinese signs, Chinese has no kana but in a name or a quotation.
    counts["ja" if 10 * kana > han else "zh"] = _SIGN_WEIGHT * (kana + han)
    language = max(counts, key=lambda code: counts[code])
    return language if counts[language] > len(_LATIN.findall(text)) else DEFAULT
