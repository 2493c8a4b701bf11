"""From what a chat model wrote to the fields that were asked for: what is meant is taken, what is missing is told.

A local model writes by grammar and can't go wrong; a hosted one may fence its JSON, talk before it, break off, or write
`seven`. Nothing is made up: a value that can't be read is a problem in words, with which the model is asked again.
"""

import difflib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from state.contracts import ReplyField, Tokenizer
from state.records import Reply

#: Characters of an answer that are looked at: more is no reply to any prompt here, and slow to repair.
_LONGEST = 50_000
#: Places in an answer at which a JSON object may begin that are tried.
_PLACES = 50
#: How alike a choice, or a key, must be to what was written for it.
_ALIKE = 0.75

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\d.,])[-−]?(\d{1,9})(?:\.0+)?(?!\d|[.,]\d)")
_WORD = re.compile(r"[^\W_]+")
_SENTENCES = re.compile(r".*[.!?…。！？]['’”\")]?(?=\s|$)", re.DOTALL)
#: What only markup needs: no speech has it.
_EMPHASIS, _BRACKETS = re.compile(r"[*#`_~]+"), re.compile(r"[<>{}\[\]|^=\\]+")
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_BOOLEANS = {"true": True, "yes": True, "y": True, "false": False, "no": False, "n": False, "not": False}


class UnusableReplyError(Exception):
    """What a model wrote is not the reply that was asked for; its text says in words what is wrong, for the model."""


def read_answer(written: str, fields: Sequence[ReplyField], tokenizer: Tokenizer) -> Reply:
    """Return the reply that an answer holds.

    Args:
        written: What the model wrote.
        fields: What was asked for.
        tokenizer: Counts the tokens by which a text is limited.

    Returns:
        A reply without tokens, whose text is the clean JSON object.

    Raises:
        UnusableReplyError: There is no object in it, or a value is missing or is nothing of its kind.
    """
    found, whole = _find_object(written[:_LONGEST], fields)
    values: dict[str, str | bool | int] = {}
    last = None if whole else list(found.values())[-1]
    for field in fields:
        value = _value_for(field, found, fields)
        if value is None:
            raise UnusableReplyError(f"the key {field.name!r} is missing")
        values[field.name] = _read(field, value, tokenizer, broken_off=value is last)
    text = json.dumps(values, ensure_ascii=False)
    return Reply(text=text, tokens=(), text_tokens=(0, 0), fields=values)


def _find_object(written: str, fields: Sequence[ReplyField]) -> tuple[dict[str, Any], bool]:
    """Return the JSON object in an answer, and whether it was whole."""
    text = _THINKING.sub("", written)
    wanted = {_plain(field.name) for field in fields}
    for place in _places(text):
        try:
            found, _ = json.JSONDecoder().raw_decode(text, place)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and wanted & set(map(_plain, found)):
            return found, True
    import json_repair

    start = text.find("{")
    if start < 0:
        raise UnusableReplyError("there is no JSON object in it")
    try:
        repaired = json_repair.loads(text[start:])
    except (ValueError, RecursionError):
        raise UnusableReplyError("it is no JSON") from None
    several = repaired if isinstance(repaired, list) else [repaired]
    objects = [one for one in several if isinstance(one, dict) and one]
    if not objects:
        raise UnusableReplyError("there is no JSON object in it")
    best = max(objects, key=lambda one: len(wanted & set(map(_plain, one))))
    return best, "}" in text[start:]


def _places(text: str) -> Iterator[int]:
    place = text.find("{")
    for _ in range(_PLACES):
        if place < 0:
            return
        yield place
        place = text.find("{", place + 1)


def _value_for(field: ReplyField, found: dict[str, Any], fields: Sequence[ReplyField]) -> Any:
    """Return what stands under a field's key, however it is spelt; `None` if nothing does."""
    if field.name in found:
        return found[field.name]
    others = {one.name for one in fields} - {field.name}
    spare = {key: value for key, value in found.items() if key not in others}
    if (close := _nearest(field.name, spare)) is not None:
        return spare[close]
    return next(iter(spare.values())) if len(fields) == len(found) == 1 else None


def _read(field: ReplyField, value: Any, tokenizer: Tokenizer, *, broken_off: bool) -> str | bool | int:
    if broken_off and field.kind not in ("speech", "text"):
        raise UnusableReplyError("it breaks off")
    if field.kind == "integer":
        return _integer(field, value)
    if field.kind == "boolean":
        return _boolean(field, value)
    if not isinstance(value, str | int | float):
        raise UnusableReplyError(f"the value of {field.name!r} is no text")
    if field.kind == "choice":
        return _choice(field, str(value))
    text = _one_line(str(value))
    if field.kind == "speech":
        text = _one_line(_BRACKETS.sub(" ", _EMPHASIS.sub("", text)))
        text = re.sub(rf"^{re.escape(field.name)}\s*:\s*", "", text)
        if not _WORD.search(text):
            raise UnusableReplyError(f"nothing is said in {field.name!r}")
    if broken_off and not (text := _whole_sentences(text)):
        raise UnusableReplyError("it breaks off")
    return _shortened(text, field.max_tokens, tokenizer)


def _integer(field: ReplyField, value: Any) -> int:
    number: int | None = None
    if isinstance(value, str):
        if found := _NUMBER.search(value):
            number = -int(found[1]) if found[0][0] in "-−" else int(found[1])
        else:
            number = next((_NUMBERS.index(word) for word in _WORD.findall(value.lower()) if word in _NUMBERS), None)
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    elif type(value) is int:
        number = value
    if number is None or not field.minimum <= number <= field.maximum:
        raise UnusableReplyError(f"{field.name!r} is no whole number from {field.minimum} to {field.maximum}")
    return number


def _boolean(field: ReplyField, value: Any) -> bool:
    if type(value) is bool or (type(value) is int and value in (0, 1)):
        return bool(value)
    first = _WORD.search(str(value).lower())
    if first is None or first[0] not in _BOOLEANS:
        raise UnusableReplyError(f"{field.name!r} is neither true nor false")
    return _BOOLEANS[first[0]]


def _choice(field: ReplyField, written: str) -> str:
    if written in field.choices:
        return written
    if (close := _nearest(written, field.choices)) is not None:
        return close
    raise UnusableReplyError(f"{field.name!r} is none of {', '.join(field.choices)}")


def _nearest(text: str, known: Iterable[str]) -> str | None:
    """Return what is spelt most alike, with the same digits; `None` if nothing is."""
    digits = re.findall(r"\d", text)
    plain = {_plain(one): one for one in known if re.findall(r"\d", one) == digits}
    close = difflib.get_close_matches(_plain(text), plain, n=1, cutoff=_ALIKE)
    return plain[close[0]] if close else None


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold())) or text.casefold().strip()


def _one_line(text: str) -> str:
    """Return a text on one line, without control characters and halves of surrogate pairs."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return " ".join("".join(" " if unicodedata.category(one) in _UNSEEN else one for one in text).split())


_UNSEEN = ("Cc", "Zl", "Zp")


def _whole_sentences(text: str) -> str:
    """Return a text up to the end of its last whole sentence; empty without one."""
    whole = _SENTENCES.match(text)
    return whole[0] if whole else ""


def _shortened(text: str, limit: int, tokenizer: Tokenizer) -> str:
    """End a text with its last whole sentence within the limit; without one it trails off."""
    tokens = tokenizer.encode(text)
    if len(tokens) <= limit:
        return text
    begun = tokenizer.decode(tokens[: limit - 1])
    return _whole_sentences(begun) or f"{begun.rsplit(' ', 1)[0].rstrip()}…"
