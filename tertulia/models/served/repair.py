"""Reading JSON replies of chat models, which may be not quite JSON.

A local model writes by grammar and can't go wrong; a hosted one may fence its JSON, think or talk before it, break off,
or write `seven`. `read_answer` takes the intended values and makes nothing up: a value that can't be read is an
`UnusableReplyError` whose text describes the fault in words, with which the model is asked again.

Thoughts are taken out first (`thoughts`); an object in a thought is never the answer. Of several whole objects the last
one counts that has as many of the keys as any before it, and says something: a model corrects itself, and then may show
the empty form again. Speech goes through `spoken_line`, and `state.spoken` if actions are set apart.
"""
# Own code: jiter's partial mode reads 7 of the tests' 16 forms, and doesn't say where a value broke off or was cut.

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tertulia.models.served.spoken_line import line_of, without_marks
from tertulia.models.served.thoughts import LONGEST_THOUGHT, Split, has_marks, is_thought_key, split_thought
from tertulia.models.speech import CONTROLS
from tertulia.prompts.placeholders import says_only_placeholders
from tertulia.prompts.shape import problem_of
from tertulia.state.language_model import ReplyField, Tokenizer
from tertulia.state.parameters import Actions
from tertulia.state.records import Reply
from tertulia.state.sentences import SPACED_ENDS, UNSPACED_ENDS
from tertulia.state.spoken import has_actions, words_of
from tertulia.state.text import folded, folded_words, one_line, whole_characters

#: Number of characters of an answer, or of each text in it, that are read: no reply to any prompt here is longer.
_LONGEST = 50_000
#: Number of places in an answer that are tried as the beginning of a JSON object.
_PLACES = 50
#: The least likeness between a choice, or a key, and its spelling in an answer.
_ALIKE = 0.75

#: The closing sign of a text by the opening one.
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_BETWEEN = " \t\r\n,;"
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_NUMBER = re.compile(r"(?<![\d.,])[-−]?(\d{1,9})(?:\.0+)?(?!\d|[.,]\d)")
_SENTENCES = re.compile(rf".*(?:[{SPACED_ENDS}]['’”\")]?(?=\s|$)|[{UNSPACED_ENDS}][」』”’）]?)", re.DOTALL)
_CONTROLS = re.compile(rf"[{CONTROLS}]+")
#: Signs around an object that are no talk.
_AROUND = re.compile(r"```\s*json\b|<[^<>]{1,40}>|\[\w{1,40}\]|\bassistant\b", re.IGNORECASE)
_BREAKS_OFF = "the answer breaks off: said up to its last whole sentence"
_FENCED = re.compile(r"[\s\ufeff]*(?:```\w{0,12}\s*)?(?=\{)")
#: Numbers from 0 to 10 in words, but for those that are articles as well.
_NUMBERS = {
    word: number
    for words in (
        "zero one two three four five six seven eight nine ten",
        "- eins zwei drei vier fünf sechs sieben acht neun zehn",
        "zéro - deux trois quatre cinq six sept huit neuf dix",
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez",
    )
    for number, word in enumerate(words.split())
}
#: Chinese numerals, and a single numeral at the beginning: `七分`.
_NUMERALS, _NUMERAL = "零一二三四五六七八九十", re.compile(r"\s*([零一二三四五六七八九十])(?=分|\W|$)")
_BOOLEANS = {"true": True, "yes": True, "y": True, "false": False, "no": False, "n": False, "not": False}
_BOOLEANS |= {"是": True, "是的": True, "对": True, "否": False, "不是": False, "不": False, "没有": False}
_BOOLEANS |= {"ja": True, "wahr": True, "nein": False, "falsch": False, "nicht": False}
_BOOLEANS |= {"oui": True, "vrai": True, "non": False, "faux": False, "pas": False}
_BOOLEANS |= {"sí": True, "si": True, "verdadero": True, "falso": False}


class UnusableReplyError(Exception):
    """An answer without the requested reply; its words describe the fault to the model."""

    def __init__(self, entry: str, field: ReplyField | None = None) -> None:
        """Keep the entry of the template that describes the fault, and the field whose value it is."""
        super().__init__(problem_of(entry, field))
        self._problem = entry, field

    def in_words(self, language: str) -> str:
        """Return a description of the fault in a language."""
        return problem_of(*self._problem, language)


@dataclass(frozen=True)
class Scene:
    """The circumstances of a spoken line.

    Attributes:
        speaker: The name of the speaker, if that is not the key of the speech; empty otherwise.
        others: The names of the others; empty if they are not known.
        actions: The use of the actions in a line, such as `*sets down her cup*`.
    """

    speaker: str = ""
    others: tuple[str, ...] = ()
    actions: Actions = "keep"


def read_answer(
    written: str,
    fields: Sequence[ReplyField],
    tokenizer: Tokenizer,
    forms: Sequence[Mapping[str, str]] = (),
    scene: Scene = Scene(),
    *,
    is_cut: bool = False,
) -> Reply:
    """Return the reply that an answer holds: one without tokens, whose text is the clean JSON object.

    Its `remark` says if speech that broke off ends with its last whole sentence.

    Args:
        tokenizer: Counts the tokens by which a text is limited.
        forms: The placeholders that the model was shown for the fields, by name; an answer of these alone says nothing.
        is_cut: Whether the answer met a limit: an object behind words may be a draft then, in a thought without marks.

    Raises:
        UnusableReplyError: There is no object in it, a value is missing or not of its kind, or it is the form itself.
    """
    split = _without_thought(written, fields)
    if split.is_open and "{" not in split.rest:
        raise UnusableReplyError("breaks_off")
    text = _of_readable_length(split.rest)
    found, broken, begins = _find_object(text, fields, forms)
    if is_cut and broken is None and re.search(r"\w|<!--", _AROUND.sub("", text[:begins])):
        raise UnusableReplyError("breaks_off")
    values: dict[str, str | bool | int] = {}
    with_actions: dict[str, str] = {}
    keys = {field.name: _key_of(field, found, fields) for field in fields}
    for field in fields:
        key = keys[field.name]
        try:
            if key is None or found[key] is None:
                raise UnusableReplyError("missing", field)
            value = _read(field, found[key], tokenizer, scene, broken_off=key == broken)
            values[field.name] = _words(str(value), field, scene, with_actions) if field.kind == "speech" else value
        except UnusableReplyError:
            if not field.is_optional:
                raise
            values[field.name] = _nothing(field)
    speech = [field for field in fields if field.kind == "speech"]
    if speech and not any(values[field.name] for field in speech):
        raise UnusableReplyError("missing", speech[0])
    if any(says_only_placeholders(fields, values, form) for form in forms):
        raise UnusableReplyError("form")
    beside = [str(value) for key, value in found.items() if key not in keys.values() and is_thought_key(key)]
    breaks_off = broken is not None and any(keys[field.name] == broken for field in speech)
    thought = "\n".join(filter(None, (split.thought, *beside)))[:LONGEST_THOUGHT]
    return _reply_of(values, thought, with_actions, _BREAKS_OFF if breaks_off else None)


def _of_readable_length(text: str) -> str:
    """Return a text, cut if it is too long; of a whole JSON object the texts in it are cut, and it stays whole."""
    if len(text) <= _LONGEST:
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return text[:_LONGEST]
    return json.dumps({key: value[:_LONGEST] if isinstance(value, str) else value for key, value in found.items()})


def read_prose(written: str, fields: Sequence[ReplyField], scene: Scene = Scene(), *, is_cut: bool = False) -> Reply:
    """Return an answer that is no object as the first speech of a reply, verbatim, line breaks and all.

    It is for callers that ask for several replies and can read a list of them; other requested fields are empty. An
    answer that met a limit ends with its last whole sentence.

    Raises:
        UnusableReplyError: Nothing is written.
    """
    split = split_thought(written)
    field = next(field for field in fields if field.kind == "speech")
    text = whole_characters(line_of(split.rest[:_LONGEST], scene.speaker, scene.others))
    if is_cut:
        text = _whole_sentences(text)
    if not folded_words(text):
        raise UnusableReplyError("breaks_off" if split.is_open or is_cut else "no_object")
    with_actions: dict[str, str] = {}
    values = {field.name: _nothing(field) for field in fields}
    values[field.name] = _words(text, field, scene, with_actions)
    return _reply_of(values, split.thought, with_actions, _BREAKS_OFF if is_cut else None)


def _reply_of(
    values: dict[str, str | bool | int], thought: str, with_actions: dict[str, str], remark: str | None
) -> Reply:
    return Reply(
        text=json.dumps(values, ensure_ascii=False),
        tokens=(),
        text_tokens=(0, 0),
        fields=values,
        thought=thought or None,
        with_actions=with_actions or None,
        remark=remark,
    )


def _nothing(field: ReplyField) -> str | bool | int:
    """Return the placeholder of a missing value."""
    return False if field.kind == "boolean" else ""


def _without_thought(written: str, fields: Sequence[ReplyField]) -> Split:
    """Return an answer without its thoughts; marks within the values of an object stay, for these have lines."""
    begins = _FENCED.match(written)
    if begins is not None and has_marks(written):
        try:
            found, end = json.JSONDecoder().raw_decode(written, begins.end())
        except (ValueError, RecursionError):
            found, end = None, 0
        if _is_reply(found, fields) and not has_marks(written[end:]):
            return _of_values(found)
    return split_thought(written)


def _of_values(found: Mapping[str, Any]) -> Split:
    """Return an object whose values are without their thoughts; one that is a cut thought alone is `None`."""
    splits = {key: split_thought(value) for key, value in found.items() if isinstance(value, str)}
    rest = {key: splits[key].rest.strip() or None if key in splits else value for key, value in found.items()}
    thought = "\n".join(split.thought for split in splits.values() if split.thought)
    return Split(thought, json.dumps(rest), any(split.is_open for split in splits.values()))


def _is_reply(found: Any, fields: Sequence[ReplyField]) -> bool:
    return isinstance(found, dict) and not {folded(field.name) for field in fields}.isdisjoint(map(folded, found))


def _find_object(
    text: str, fields: Sequence[ReplyField], forms: Sequence[Mapping[str, str]]
) -> tuple[dict[str, Any], str | None, int]:
    """Return the values in an answer by their keys, the key of the value that breaks off, and the object's place."""
    wanted = {folded(field.name) for field in fields}
    best: dict[str, Any] | None = None
    end = most = begins = 0
    for place in _places(text):
        if place < end:  # within an object that was read
            continue
        try:
            found, behind = json.JSONDecoder().raw_decode(text, place)
        except (ValueError, RecursionError):
            continue
        if not _is_reply(found, fields):
            continue
        end, keys = behind, len(wanted & set(map(folded, found)))
        if keys >= most and (best is None or _says_something(found, fields, forms)):
            best, most, begins = found, keys, place
    if best is not None:
        return best, None, begins
    if "{" not in text:
        raise UnusableReplyError("no_object")
    begins = text.index("{")
    return *_find_values(text[begins:], fields), begins


def _says_something(found: Mapping[str, Any], fields: Sequence[ReplyField], forms: Sequence[Mapping[str, str]]) -> bool:
    """Return whether an object is more than an empty form."""
    known = {field.name: str(found.get(field.name) or "") for field in fields if field.kind == "speech"}
    is_form = any(says_only_placeholders(fields, known, form) for form in forms)
    return not is_form and (not known or any(map(folded_words, known.values())))


def _places(text: str) -> Iterator[int]:
    place = text.find("{")
    for _ in range(_PLACES):
        if place < 0:
            return
        yield place
        place = text.find("{", place + 1)


def _find_values(text: str, fields: Sequence[ReplyField]) -> tuple[dict[str, Any], str | None]:
    """Return the text after each key of an object that is not quite JSON (see `_find_object`).

    The object is flat, and its keys are known: a value, of any content, ends before the next key. So time is
    linear in the text; a parser that repairs any JSON does not achieve that.
    """
    keys: dict[str, re.Match[str]] = {}
    for match in _key_pattern(fields).finditer(text):
        keys.setdefault(match[match.lastindex or 0], match)
    if not keys:
        raise UnusableReplyError("no_json")
    ends = [*(match.start() for match in keys.values()), len(text)][1:]
    written = {key: text[match.end() : end].strip() for (key, match), end in zip(keys.items(), ends, strict=True)}
    last = list(written)[-1]
    values = {key: _value_between(value) for key, value in written.items() if key != last}
    values[last], whole = _value_at_end(written[last])
    return values, None if whole else last


def _key_pattern(fields: Sequence[ReplyField]) -> re.Pattern[str]:
    """Return the pattern of a key: a known name in quotes or after a comma, any name in quotes after a comma."""
    known = "|".join(re.escape(field.name) for field in fields)
    begins, ends = r"[{,\n]\s{0,20}", r"\s{0,5}:"
    kinds = [rf"[\"'“‘]({known})[\"'”’]", rf"{begins}({known})"]
    kinds += [rf"{begins}{mark}([^{mark}{_QUOTES[mark]}\n]{{1,60}}){_QUOTES[mark]}" for mark in _QUOTES]
    return re.compile(rf"(?:{'|'.join(kinds)}){ends}", re.IGNORECASE)


def _value_between(written: str) -> str | None:
    value = written.rstrip(_BETWEEN)
    closing = _QUOTES.get(value[:1])
    if closing is None:
        return _bare(value)
    end = len(value) - 1 if value.endswith(closing) else value.rfind(f"{closing},")  # a remark may follow it
    return _unescaped(value[1:end] if end > 0 else value[1:])


def _value_at_end(written: str) -> tuple[str | None, bool]:
    """Return the last value, which talk may follow, and whether it is complete."""
    closing = _QUOTES.get(written[:1])
    if closing is None:
        value, brace, _ = written.partition("}")
        return _bare(value), bool(brace)
    if end := re.search(rf"(?<!\\){closing}\s{{0,20}},?\s{{0,20}}[}}\]]", written[1:]):
        return _unescaped(written[1 : 1 + end.start()]), True
    value = written[1:].rstrip(_BETWEEN)
    whole = value.endswith(closing)
    return _unescaped(value[:-1] if whole else value), whole


def _bare(written: str) -> str | None:
    value = written.strip(_BETWEEN)
    return None if value in ("", "null", "None") else value


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else _SIGNS.get(found[2], found[2]), text)


_SIGNS = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " "}


def _key_of(field: ReplyField, found: dict[str, Any], fields: Sequence[ReplyField]) -> str | None:
    """Return the key of a field's value, however it is spelt; `None` if there is none."""
    if field.name in found:
        return field.name
    other_names = {known.name for known in fields} - {field.name}
    others = [key for key in found if key not in other_names and not is_thought_key(key)]
    if (close := _nearest(field.name, others)) is not None:
        return close
    return others[0] if len(fields) == len(others) == 1 else None


def _read(field: ReplyField, value: Any, tokenizer: Tokenizer, scene: Scene, *, broken_off: bool) -> str | bool | int:
    if broken_off and field.kind not in ("speech", "text"):
        raise UnusableReplyError("breaks_off")
    if field.kind == "integer":
        return _integer(field, value)
    if field.kind == "boolean":
        return _boolean(field, value)
    if not isinstance(value, str | int | float):
        raise UnusableReplyError("no_text", field)
    if field.kind == "choice":
        return _choice(field, str(value))
    if field.kind == "speech":
        text = _on_one_line(line_of(str(value), scene.speaker or field.name, scene.others))
        if not folded_words(text):
            raise UnusableReplyError("nothing", field)
    else:
        text = _on_one_line(without_marks(str(value)))
    if broken_off and not (text := _whole_sentences(text)):
        raise UnusableReplyError("breaks_off")
    return _shortened(text, field.max_tokens, tokenizer)


def _words(text: str, field: ReplyField, scene: Scene, with_actions: dict[str, str]) -> str:
    """Return the words of a text, and note the text by its field if actions are set apart from them."""
    if scene.actions == "keep" or not any(map(has_actions, lines := text.splitlines())):
        return text
    with_actions[field.name] = text
    words = "\n".join(map(words_of, lines)).strip()
    if not folded_words(words):
        raise UnusableReplyError("nothing", field)
    return words


def _integer(field: ReplyField, value: Any) -> int:
    number: int | None = None
    if isinstance(value, str):
        if found := _NUMBER.search(value):
            number = -int(found[1]) if found[0][0] in "-−" else int(found[1])
        elif found := _NUMERAL.match(value):
            number = _NUMERALS.index(found[1])
        else:
            number = next((_NUMBERS[word] for word in folded_words(value) if word in _NUMBERS), None)
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    elif type(value) is int:
        number = value
    if number is None or (field.is_bounded and not field.minimum <= number <= field.maximum):
        raise UnusableReplyError("no_number", field)
    return number


def _boolean(field: ReplyField, value: Any) -> bool:
    if type(value) is bool or (type(value) is int and value in (0, 1)):
        return bool(value)
    first = next(iter(folded_words(str(value))), "")
    if first not in _BOOLEANS:
        raise UnusableReplyError("no_boolean", field)
    return _BOOLEANS[first]


def _choice(field: ReplyField, written: str) -> str:
    if written in field.choices:
        return written
    if (close := _nearest(written, field.choices)) is not None:
        return close
    raise UnusableReplyError("no_choice", field)


def _nearest(text: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that is spelt most alike, with the same digits; `None` if there is none."""
    digits = re.findall(r"\d", text)
    plain = {folded(candidate): candidate for candidate in candidates if re.findall(r"\d", candidate) == digits}
    close = difflib.get_close_matches(folded(text), plain, n=1, cutoff=_ALIKE)
    return plain[close[0]] if close else None


def _on_one_line(text: str) -> str:
    """Return a text on one line; a control character counts as a break between words, half a pair becomes `�`."""
    return one_line(_CONTROLS.sub(" ", whole_characters(text)))


def _whole_sentences(text: str) -> str:
    """Return a text up to the end of its last whole sentence; empty if it has none."""
    whole = _SENTENCES.match(text)
    return whole[0] if whole else ""


def _shortened(text: str, limit: int, tokenizer: Tokenizer) -> str:
    """Return a text within the limit: up to its last whole sentence, or trailing off if it has none."""
    tokens = tokenizer.encode(text)
    if len(tokens) <= limit:
        return text
    beginning = tokenizer.decode(tokens[: limit - 1])
    return _whole_sentences(beginning) or f"{beginning.rsplit(' ', 1)[0].rstrip()}…"
