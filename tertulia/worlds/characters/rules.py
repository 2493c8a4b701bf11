"""The rules by which fields of a file are taken.

A format is a table: by field of the file, the rule that takes it. A field without a rule goes to the default of the
table. So every value is taken or listed (`tests/worlds/characters/`).
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from tertulia.state.meeting import BIG_FIVE
from tertulia.state.text import one_line
from tertulia.worlds.characters.draft import EMPTY, Draft, errors_at, full_name, parts_of
from tertulia.worlds.characters.facts import facts_of, in_a_list, in_title_case, labelled
from tertulia.worlds.characters.macros import USER

_AGE = re.compile(r"\s*([0-9]{1,6})(?:\.0*)?(?:\s*(?:years?|y/?o)(?: old)?)?\s*", re.IGNORECASE)
_DEGREE = re.compile(r"\s*(high|low|medium|moderate)\b(?![-–])[\s.:,;]*", re.IGNORECASE)
_ENDS_OF_PARTS = re.compile(r"[,;.!?]+(?=\s|$)|[，、；。！？]")

#: A rule takes a value (never empty) of a field into a draft; the text names the place in the file.
Rule = Callable[[Draft, Any, str], None]


def take(draft: Draft, values: Mapping[str, Any], table: Mapping[str, Rule], otherwise: Rule, place: str = "") -> None:
    """Take the values of an object by a table of rules."""
    for key, value in values.items():
        if value not in EMPTY:
            table.get(key, otherwise)(draft, value, f"{place}{key}")


def nested(table: Mapping[str, Rule], otherwise: Rule, alone: Rule | None = None) -> Rule:
    """Return a rule that takes an object by a table of its own; any other value by `alone`, or by the default."""

    def rule(draft: Draft, value: Any, place: str) -> None:
        if isinstance(value, Mapping):
            take(draft, value, table, otherwise, f"{place}.")
        else:
            (alone or otherwise)(draft, value, place)

    return rule


def listed(goes_to: str) -> Rule:
    """Return a rule that lists a value as not taken."""
    return lambda draft, value, place: draft.leave(place, value, goes_to)


def known(draft: Draft, value: Any, place: str) -> None:
    """Take a value that the draft has already: the name, the kind of file."""


def text(field: str) -> Rule:
    """Return a rule that takes a value as a text of one line; further ones are joined to it."""

    def rule(draft: Draft, value: Any, place: str) -> None:
        new = in_a_list(draft.words(part, place) for part in parts_of(value))
        before = str(draft.values.get(field, ""))
        if new and not _said_in(new) <= _said_in(before):
            draft.values[field] = "; ".join(filter(None, (before, new)))

    return rule


def _said_in(text: str) -> set[str]:
    """Return the parts of a text, in lower case: sentences, and the parts between commas."""
    return {part.strip() for part in _ENDS_OF_PARTS.split(text.casefold())} - {""}


def several(field: str, between: str | None = None) -> Rule:
    """Return a rule that takes each text of a list into a field.

    Args:
        between: A pattern that separates the parts of a single text.
    """

    def rule(draft: Draft, value: Any, place: str) -> None:
        for part in parts_of(value):
            words = draft.words(part, place)
            draft.add(field, map(one_line, re.split(between, words) if between else [words]))

    return rule


def facts(draft: Draft, value: Any, place: str) -> None:
    """Take prose, or a list of texts, as facts."""
    for part in parts_of(value):
        found = facts_of(draft.words(part, place), draft.name)
        draft.add("background", [fact for fact in found if not _is_field(draft, fact)])


def _is_field(draft: Draft, fact: str) -> bool:
    """Take a fact such as `Age: 34` or `Personality: caring` as that field; return whether it is one."""
    label, colon, value = fact.partition(": ")
    label = label.removeprefix(f"{draft.name}'s ").removeprefix(f"{draft.char}'s ").casefold()
    most = _LABELS.get(label, ("", 0))[1]
    if not colon or len(value.split()) > most or USER in value:
        return False
    field, value = _LABELS[label][0], value.strip(" .")
    if field == "age":
        number = _AGE.fullmatch(value)
        if not number or draft.values.setdefault("age", int(number[1])) != int(number[1]):
            return False
    elif field == "character":
        text(field)(draft, value, "")
    elif field in draft.values:
        return str(draft.values[field]) == value
    else:
        draft.values[field] = value
    return True


#: By the label of a fact in a description, the field that it is, and the words that it has at most.
_LABELS = {
    "age": ("age", 3),
    **dict.fromkeys(("personality", "traits", "personality traits"), ("character", 40)),
    **dict.fromkeys(("occupation", "job", "profession"), ("occupation", 6)),
    **dict.fromkeys(("residence", "home", "lives in"), ("home", 8)),
}


def labelled_facts(label: str = "") -> Rule:
    """Return a rule that takes a value as facts with a label, which is the field's name if none is given.

    Short items of a list are one fact, sentences a fact each, an object a fact of each of its values.
    """

    def rule(draft: Draft, value: Any, place: str) -> None:
        own = label or in_title_case(place.rpartition(".")[2])
        if isinstance(value, Mapping):
            for key, part in value.items():
                if part not in EMPTY:
                    labelled_facts(f"{own}, {in_title_case(str(key))}")(draft, part, place)
            return
        parts = [draft.words(part, place) for part in parts_of(value)]
        if len(parts) > 1 and all(len(part.split()) <= 3 for part in parts):
            parts = [", ".join(parts)]
        draft.add("background", (one_line(fact) for part in parts for fact in labelled(own, part)))

    return rule


def relations(otherwise: Rule) -> Rule:
    """Return a rule that takes objects with a name and a description as relations, and all else by another rule."""

    def rule(draft: Draft, value: Any, place: str) -> None:
        for relation in value if isinstance(value, list) else [value]:
            if isinstance(relation, Mapping) and relation.get("name") and relation.get("description"):
                name = relate(draft, relation["name"], relation["description"], place)
                rest = {key: part for key, part in relation.items() if key not in ("name", "description")}
                labelled_facts(f"About {name}")(draft, rest, place)
            else:
                otherwise(draft, relation, place)

    return rule


def relate(draft: Draft, name: Any, how: Any, place: str) -> str:
    """Add a relation to a person; return their name."""
    with errors_at(place):
        partner, relation = draft.words(full_name({"name": name}), place), draft.words(how, place)
    known = draft.values.setdefault("relations", {})
    known[partner] = relation if known.get(partner, relation) == relation else f"{known[partner]}; {relation}"
    return partner


def age(draft: Draft, value: Any, place: str) -> None:
    """Take a number of years; other words about the age are a fact, and so is a second number."""
    number = _AGE.fullmatch(str(value))
    if isinstance(value, bool) or number is None:
        labelled_facts("Age")(draft, value, place)
    elif not int(number[1]):
        draft.leave(place, value, "a default of programs")
    elif draft.values.setdefault("age", int(number[1])) != int(number[1]):
        labelled_facts()(draft, value, place)


def big_five(draft: Draft, value: Any, place: str) -> None:
    """Take dimensions of personality: high or low is a pole, the words are facts.

    A value is an object by dimension (`"openness": "High. Curious."`), or a text (`Openness - High; …`).
    """
    if not isinstance(value, Mapping):
        pairs = [re.split(r"\s*[-–:]\s*", part, maxsplit=1) for part in re.split(r"[;\n]", str(value))]
        parsed = {pair[0].strip(): pair[1] for pair in pairs if len(pair) == 2}
        if not parsed or not all(dimension_of(name) for name in parsed) or len(parsed) < len(list(filter(any, pairs))):
            labelled_facts("Big Five")(draft, value, place)
            return
        value = parsed
    for name, words in value.items():
        degree = _DEGREE.match(words) if isinstance(words, str) else None
        dimension = dimension_of(name)
        if degree and dimension and (high := degree[1].casefold()) in ("high", "low"):
            draft.add("traits", [BIG_FIVE[dimension][0 if high == "high" else 1]])
            if degree.end() == len(words):
                continue
        for part in parts_of(words):
            draft.add("background", [f"{in_title_case(str(name))}: {one_line(draft.words(part, f'{place}.{name}'))}"])


def dimension_of(name: str) -> str | None:
    """Return the dimension of the Big Five that a name means; `None` for another name."""
    folded = str(name).casefold().replace(" to experience", "").replace("extroversion", "extraversion").strip()
    if folded == "emotional stability":
        return None
    return folded if folded in BIG_FIVE else None
