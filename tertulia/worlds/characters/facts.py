"""Cut the description of a character into facts: sentences, attributes, list items, `Label: value`.

Descriptions are prose, Markdown, W++ (`[Character("M") { Personality("caring" + "watchful") }]`), lists in brackets,
or several of these. Each word of a description is in a fact, except marks of layout and headings that repeat the name.
Patterns take time in proportion to the text.
"""

import re
from collections.abc import Iterable, Iterator
from html import unescape

from tertulia.state.sentences import sentences
from tertulia.state.text import folded, one_line
from tertulia.worlds.characters.macros import CHAR, USER

#: Signs for the macros of names while a text is cut, so that their braces are none of W++; no text has them.
_SIGNS = {USER: "\0", CHAR: "\1"}

#: Headings that name no subject.
_PLAIN_HEADINGS = frozenset(
    ("description", "overview", "profile", "info", "basic info", "basic information", "summary", "general", "bio")
)
#: Attributes of W++ whose value is the name or the kind of the character.
_OF_NAME = frozenset(("character", "char", "name"))

_GROUP = re.compile(r"^[ \t]*\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?!\()[ \t]*,?", re.MULTILINE)
_QUOTED = r'"[^"\n]*"|“[^”\n]*”'
_SUBJECT = r"((?:[^\W_]|[\0\1])[\w\0\1 '’/&-]{0,60})"
_ATTRIBUTE = re.compile(rf"{_SUBJECT}\((\s*(?:{_QUOTED})(?:[\s+,;]*(?:{_QUOTED}))*\s*)\)")
_BARE_ATTRIBUTE = re.compile(rf"{_SUBJECT}\(([^()]*)\)")
_OPENED = re.compile(r"[\w\0\1]\(")
_ASSIGNED = re.compile(rf"{_SUBJECT}=(\s*(?:{_QUOTED})(?:[\s+,]*(?:{_QUOTED}))*)")
_QUOTES = re.compile(_QUOTED)

_BLOCK = re.compile(r"</?(?:p|br|hr|div|ul|ol|li|h[1-6]|center)(?:\s[^<>]{0,200})?/?>", re.IGNORECASE)
_INLINE = re.compile(r"</?(?:b|i|u|s|em|strong|span|font|small)(?:\s[^<>]{0,200})?/?>", re.IGNORECASE)
_RULE = re.compile(r"[-=_*~#|:`{}\[\]\s]+")
_HEADING = re.compile(r"#{1,6}\s+(\S[^\n]{0,100})")
_TAG = re.compile(r"<(/?)([^\W\d_][\w -]{0,40})>")
_TAGGED = re.compile(r"<([^\W\d_][\w -]{0,40})>([^\n]*)</\1>")
_BULLET = re.compile(r"(?:(?:[-*•·◦‣+>▪■]|\d{1,3}[.)])\s+|[・●○]\s*)(?=\S)")
#: The sign between quoted values of W++, with a break of lines beside it.
_PLUS = re.compile(r'(?<=["”])\s*\+\s*(?=["“])')
_ROW = re.compile(r"\|([^\n]*)\|")
_BOLD = re.compile(r"(\*{2,3}|__)([^*_\n]{1,60})\1\s*([:：=]?)\s*")
#: First words of a sentence, so of no label.
_NO_LABEL = re.compile(r"(she|he|they|it|i|you|we|her|his|their|my|your|the|there|this|that|when|if)\b", re.IGNORECASE)
_LABEL_ALONE = re.compile(r"((?:[^\W_]|[\0\1])[^\n:：.!?;\"“”()]{0,40}?)\s*[:：]")
_LABELLED = re.compile(rf"{_LABEL_ALONE.pattern}\s+(?=\S)")
_SEMICOLON = re.compile(r"(?<=;)\s+")
_WORDS_OF_A_PART = 3
_STRONG = re.compile(r"(\*\*|__)(\S|\S[^\n]{0,400}?\S)\1")


def facts_of(text: str, name: str) -> list[str]:
    """Return the facts of a description, each once, in order.

    Args:
        name: Of the person; a heading of that name is no label.
    """
    facts: list[str] = []
    last = 0
    text = _PLUS.sub(" + ", unescape(_INLINE.sub("", _BLOCK.sub("\n", text))))
    for macro, sign in _SIGNS.items():
        text = text.replace(macro, sign)
    for group in _GROUP.finditer(text):
        facts += _of_lines(text[last : group.start()], name)
        facts += _of_group(group[1], name)
        last = group.end()
    facts += _of_lines(text[last:], name)
    return list(dict.fromkeys(_with_macros(fact) for fact in map(one_line, facts) if fact))


def _with_macros(fact: str) -> str:
    for macro, sign in _SIGNS.items():
        fact = fact.replace(sign, macro)
    return fact


def labelled(label: str, text: str) -> list[str]:
    """Return the sentences of a text as facts with a label before each; a semicolon ends one between longer parts."""
    plain = _STRONG.sub(r"\2", text)
    facts = [fact for sentence in sentences(plain) for fact in _between_semicolons(sentence.strip())]
    return [f"{label}: {fact}" if label else fact for fact in facts if fact]


def _between_semicolons(sentence: str) -> list[str]:
    parts = _SEMICOLON.split(sentence)
    return parts if all(len(part.split()) >= _WORDS_OF_A_PART for part in parts) else [sentence]


def in_a_line(facts: Iterable[str]) -> str:
    """Return facts as one text; a full stop follows each that ends in a word, but the last."""
    return _joined(facts, ". ")


def in_a_list(texts: Iterable[str]) -> str:
    """Return texts as one, with commas between words and none behind a sentence."""
    return _joined(texts, ", ")


def _joined(texts: Iterable[str], between: str) -> str:
    joined = ""
    for text in filter(None, map(one_line, texts)):
        joined += (between if joined[-1:].isalnum() else " ") * bool(joined) + text
    return joined


def in_title_case(field: str) -> str:
    """Return the name of a field (`years_of_experience`, `moralValues`) as a label."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_\s]+", " ", field).strip()
    return words[:1].upper() + words[1:]


def _of_group(text: str, name: str) -> list[str]:
    """Return the facts of a text in square brackets: attributes, `key: value` between semicolons, or prose."""
    if _ATTRIBUTE.search(text):
        return _of_attributes(text, _ATTRIBUTE, name)
    if ("(" in text and "{" in text) or len(_OPENED.findall(text)) > 1:
        return _of_attributes(text, _BARE_ATTRIBUTE, name)
    if _ASSIGNED.search(text):
        return _of_attributes(text, _ASSIGNED, name)
    if ":" in text and ";" in text:
        return [fact for part in text.split(";") for fact in _of_lines(part, name)]
    return _of_lines(text, name)


def _of_attributes(text: str, pattern: re.Pattern[str], name: str) -> list[str]:
    """Return `Label: value, value` of each attribute, and the words between as they are."""
    facts: list[str] = []
    last = 0
    for attribute in pattern.finditer(text):
        facts += _of_lines(text[last : attribute.start()].strip(" \t\r\n{}[]+,;"), name)
        facts.append(_attribute(attribute, name))
        last = attribute.end()
    return facts + _of_lines(text[last:].strip(" \t\r\n{}[]+,;"), name)


def _attribute(attribute: re.Match[str], name: str) -> str:
    quoted = [part[1:-1].strip() for part in _QUOTES.findall(attribute[2])]
    value = ", ".join(quoted or [part.strip() for part in attribute[2].split("+")])
    label = attribute[1].strip()
    if not value or (label.casefold() in _OF_NAME and value == name):
        return ""
    return f"{label}: {value}"


def _of_lines(text: str, name: str) -> list[str]:
    """Return the facts of lines: of prose the sentences, of a list the items, under a heading with the heading."""
    facts: list[str] = []
    label, holds = "", False  # a heading holds across blank lines, a label before a list does not
    for line in map(str.strip, text.split("\n")):
        if tagged := _TAGGED.fullmatch(line):
            line = f"{tagged[1]}: {tagged[2]}"
        elif row := _ROW.fullmatch(line):
            cells = [cell.strip() for cell in row[1].split("|")]
            line = (": " if len(cells) == 2 else ", ").join(filter(None, cells))
        if not line:
            label = label if holds else ""
        elif heading := _heading(line):
            label, holds = _label(heading, name), True
        elif tag := _TAG.fullmatch(line):
            label, holds = ("" if tag[1] else _label(tag[2], name)), True
        elif not _RULE.fullmatch(line):
            item = _BULLET.sub("", line, count=1) if _BULLET.match(line) else line
            if (alone := _label_alone(item)) is not None:
                label, holds = _label(alone, name), False
            else:
                facts += _of_line(item, label, name)
    return facts


def _heading(line: str) -> str:
    heading = _HEADING.fullmatch(line)
    return heading[1].strip(" #*_:") if heading else ""


def _label_alone(line: str) -> str | None:
    """Return the label of a line that has nothing else: `**Habits**`, `Habits:`."""
    bold = _BOLD.match(line)
    if bold and bold.end() == len(line):
        return bold[2].strip(" :：")
    alone = _LABEL_ALONE.fullmatch(line)
    return alone[1] if alone and len(alone[1].split()) <= 4 else None


def _of_line(line: str, label: str, name: str) -> Iterator[str]:
    attribute = _ATTRIBUTE.match(line.lstrip("[{ "))
    if attribute and not line.lstrip("[{ ")[attribute.end() :].strip(" ,;{}[]"):
        yield _attribute(attribute, name)
        return
    own, value = "", line
    if (bold := _BOLD.match(line)) and (bold[3] or bold[2].rstrip().endswith((":", "："))):
        own, value = bold[2].strip(" :："), line[bold.end() :]
    elif (key := _LABELLED.match(line)) and len(key[1].split()) <= 4 and not _NO_LABEL.match(line):
        own, value = key[1], line[key.end() :]
    if own:
        own = own if own.casefold() not in _PLAIN_HEADINGS else ""
        label = own if not label or not own else f"{label}, {own}"
    quoted = _QUOTES.findall(value)
    if len(quoted) > 1 and not _QUOTES.sub("", value).strip(" +,;"):
        value = ", ".join(part[1:-1] for part in quoted)
    yield from labelled(label, value)


def _label(heading: str, name: str) -> str:
    plain = heading.strip(" *_:：")
    is_of_name = f" {folded(plain)} " in f" {folded(name)} "
    return "" if plain.casefold() in _PLAIN_HEADINGS or is_of_name else plain
