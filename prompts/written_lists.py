"""Models' answers to a request for a list of replies with probabilities: read as they are meant, in linear time.

Read are lists with numbers or bullets, over lines or in one, with or without a preamble; JSON objects and lists of any
keys; tags; and a probability before or behind a reply, in brackets, as a percentage, a fraction, or behind its name. A
number that may belong to the reply (`I am 30.`) is left there.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tertulia.state.patterns import lazy_pattern

#: Number of characters of an answer that are read.
_LONGEST = 20_000

_NUMBER = r"\d{1,4}\s?/\s?\d{1,4}|\d{0,4}[.,]\d{1,9}(?:e-?\d{1,3})?|\d{1,4}(?:e-\d{1,3})?"
_PERCENT = r"\s?(?:%|％|percent|per cent)"
_NAME = r"(?:probability|prob\.?|likelihood|chance|Wahrscheinlichkeit|probabilidad|probabilité|概率|p)"
_NAMED = rf"{_NAME}(?:\s(?:of|is|:))?\s{{0,3}}[:=≈~：]?\s{{0,3}}"
#: A number as a model writes it, not a part of another or of a word, and none below 0.
_STATED = lazy_pattern(rf"(?<![\w.,\-−])({_NUMBER})(?![\d/])({_PERCENT})?", re.IGNORECASE)
_BRACKETED = rf"[(\[（{{]\s{{0,3}}(?:{_NAMED})?({_NUMBER})({_PERCENT})?(?:\s{_NAME})?\s{{0,3}}[)\]）}}]"
#: A probability behind a reply: in brackets, behind its name, or a decimal or percentage behind a sign.
_BEHIND = lazy_pattern(
    rf"\s{{0,3}}[,;|–—-]?\s{{0,3}}(?:{_BRACKETED}|(?<!\w){_NAMED}({_NUMBER})({_PERCENT})?"
    rf"|(?<=[\s\"”])[|:–—-]\s{{1,3}}(\d{{0,4}}[.,]\d{{1,9}}|\d{{1,3}}{_PERCENT}))[\s.]{{0,3}}$",
    re.IGNORECASE,
)
#: A probability before a reply.
_BEFORE = lazy_pattern(
    rf"^\s{{0,3}}(?:{_BRACKETED}|{_NAMED}({_NUMBER})({_PERCENT})?(?=[\s:,;–—|-])"
    rf"|(0?[.,]\d{{1,9}}|\d{{1,3}}{_PERCENT})(?=\s{{0,3}}[:|–—-]))\s{{0,3}}[:,;|–—-]?\s{{0,3}}",
    re.IGNORECASE,
)
_ONLY_NUMBER = lazy_pattern(rf"\W{{0,6}}(?:{_NAMED})?({_NUMBER})({_PERCENT})?\W{{0,4}}", re.IGNORECASE)
_MARKER = (
    r"(?:\*{0,2}(?:reply|response|candidate|option|answer)\s{0,2}\d{1,2}\*{0,2}\s{0,2}[:.)-]"
    r"|\d{1,2}[.):](?!\d)|[*•–-](?=\s))"
)
_AT_MARKER = lazy_pattern(rf"\s{{0,4}}\*{{0,2}}{_MARKER}\*{{0,2}}\s{{0,4}}", re.IGNORECASE)
_INLINE = lazy_pattern(rf"(?:^|(?<=[.!?)\]%\"”:]\s)|(?<=[;,]\s))(?={_MARKER})", re.IGNORECASE)
_OBJECT = lazy_pattern(r"\{[^{}]*\}")
_STRING = lazy_pattern(r'"((?:[^"\\\n]|\\.)+)"')
_TAGGED = lazy_pattern(
    r"<(?:response|reply|candidate)[^<>]{0,40}>(.*?)(?=</?(?:response|reply|candidate)\b|$)", re.S | re.I
)
_TEXT_TAG = lazy_pattern(r"<text>(.*?)</text>", re.S | re.I)
_PROBABILITY_TAG = lazy_pattern(r"<probability>(.*?)</probability>", re.S | re.I)
_TAG = lazy_pattern(r"</?[A-Za-z_]{1,20}>")
_IS_PROBABILITY = lazy_pattern(r"prob|chance|likel|wahrsch|概率|^p$", re.IGNORECASE)
_QUOTES = '"“”„«»'
_LABELLED_STRING = lazy_pattern(
    r"\W{0,4}(?:(?:the|my|a)\s)?(?:random[\s_]{1,2})?(?:string|seed)\W{0,3}\s{0,3}[:=]\s{0,3}\W{0,2}([!#-\[\]-~]{1,64}?)"
    r"[\"'”*`]{0,2}(?:[.;,]?\s{1,4}|$)",
    re.IGNORECASE,
)
#: A first line, or first word before a line break, of letters and digits mixed.
_MIXED_STRING = lazy_pattern(
    r"\W{0,2}(?=[A-Za-z]{0,40}\d)(?=\d{0,40}[A-Za-z])([A-Za-z0-9_-]{5,64})\W{0,2}\s{0,3}(?:\n|$)"
)
_LABEL = lazy_pattern(r"^\W{0,3}(?:reply|answer|response|line)\W{0,3}:\s{0,3}", re.IGNORECASE)


class Item(NamedTuple):
    """A reply of a list, with the number beside it; `None` if there is none."""

    text: str
    probability: float | None = None
    is_percent: bool = False


def read_number(text: str) -> tuple[float, bool] | None:
    """Return the first number of a text and whether it is a percentage; `None` if there is none."""
    found = _STATED.search(text)
    return None if found is None else _value(found[1], found[2])


def read_item(text: str) -> Item:
    """Return a reply and the probability before or behind it, without the quotes and emphasis around it."""
    text = text.replace("**", "")
    for pattern in (_BEHIND, _BEFORE):
        found = pattern.search(text) if pattern is _BEFORE else _last(pattern, text)
        if found is not None and (rest := _bare(text[: found.start()] + text[found.end() :])):
            number, percent, *_ = [*(group for group in found.groups() if group), None]
            assert number is not None
            return Item(rest, *_value(number, percent if percent else number))
    return Item(_bare(text))


def read_list(written: str) -> list[Item]:
    """Return the replies of an answer that is a list, in its order; of any other, its first line."""
    text = written[:_LONGEST]
    for read in (_tagged, _objects, _strings, _lines):
        if len(items := [*read(text)]) > 1:
            return items
    first = next((line for line in text.splitlines() if line.strip() and not _is_preamble(line)), "")
    return [read_item(_AT_MARKER.sub("", first, 1) if _AT_MARKER.match(first) else first)] if first else []


def without_string(written: str) -> tuple[str, str]:
    """Return the random string with which a text begins, and the text behind it; empty if there is none."""
    text = written[:_LONGEST]
    found = _LABELLED_STRING.match(text) or _MIXED_STRING.match(text)
    return (found[1], _LABEL.sub("", text[found.end() :]).strip()) if found else ("", written)


def _value(number: str, percent: str | None) -> tuple[float, bool]:
    above, is_fraction, below = re.sub(r"\s?[%％a-zA-Z ]+$", "", number).partition("/")
    value = float(above.strip().replace(",", "."))
    if is_fraction:
        value = value / float(below) if float(below) else 0.0
    return value, bool(percent) and bool(re.search(_PERCENT, str(percent), re.IGNORECASE))


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the match of a pattern at the end of a text; only its last characters are looked at."""
    return pattern.search(text, max(0, len(text) - 60))


def _bare(text: str) -> str:
    """Return a text without spaces, emphasis, and quotes that are around the whole of it."""
    bare = text.strip().strip("*_`").strip()
    while len(bare) > 1 and bare[0] in _QUOTES and bare[-1] in _QUOTES:
        bare = bare[1:-1].strip()
    return bare


def _is_preamble(line: str) -> bool:
    return line.rstrip().endswith((":", "：")) and not any(mark in line for mark in '".!?')


def _tagged(text: str) -> Iterator[Item]:
    for found in _TAGGED.finditer(text):
        inner, stated = _TEXT_TAG.search(found[1]), _PROBABILITY_TAG.search(found[1])
        reply = inner[1] if inner else _PROBABILITY_TAG.sub("", found[1])
        item = read_item(_TAG.sub("", reply))
        value = read_number(stated[1]) if stated else None
        if item.text:
            yield item if value is None else Item(item.text, *value)


def _objects(text: str) -> Iterator[Item]:
    for found in _OBJECT.finditer(text):
        try:
            values = json.loads(found[0], strict=False)
        except (ValueError, RecursionError):
            continue
        yield from _of_object(values)


def _of_object(values: dict[str, Any]) -> Iterator[Item]:
    """Yield the reply of an object with its probability, or several that are the keys of their probabilities."""
    numbers = {key: value for key, value in values.items() if type(value) in (int, float)}
    if len(numbers) == len(values) and not any(map(_IS_PROBABILITY.search, numbers)):
        yield from (Item(_bare(key), float(value)) for key, value in numbers.items() if " " in key or len(numbers) > 1)
        return
    stated = next((str(value) for key, value in values.items() if _IS_PROBABILITY.search(key)), "")
    texts = [v for key, v in values.items() if isinstance(v, str) and not _IS_PROBABILITY.search(key)]
    if texts:
        item, value = read_item(max(texts, key=len)), read_number(stated)
        yield item if value is None else Item(item.text, *value)


def _strings(text: str) -> Iterator[Item]:
    """Yield the strings of a JSON list."""
    start, end = text.find("["), text.rfind("]")
    if 0 <= start < end and text[start + 1 : end].lstrip().startswith('"') and "{" not in text[start:end]:
        yield from (read_item(found[1]) for found in _STRING.finditer(text[start:end]))


def _lines(text: str) -> Iterator[Item]:
    """Yield the items of a list over lines, or behind markers in one line.

    A line with no more than a number is the probability of the item before it.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) == 1:
        lines = [part for part in _INLINE.split(text) if part.strip()]
    is_marked = any(map(_AT_MARKER.match, lines))
    items: list[Item] = []
    for line in lines:
        if (only := _ONLY_NUMBER.fullmatch(line.strip())) and items and items[-1].probability is None:
            items[-1] = Item(items[-1].text, *_value(only[1], only[2]))
            continue
        marker = _AT_MARKER.match(line)
        item = read_item(line[marker.end() :] if marker else line)
        if (
            item.text
            and not only
            and not _is_preamble(line)
            and (marker or item.probability is not None or not is_marked)
        ):
            items.append(item)
    if is_marked or sum(item.probability is not None for item in items) > 1:
        yield from items
