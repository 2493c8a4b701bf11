"""A person's facts, one by one: the one list from which every prompt about a person takes the fields that it shows."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from tertulia.prompts.names import enumerated
from tertulia.prompts.templates import template
from tertulia.prompts.translations import translated_list
from tertulia.state.languages import DEFAULT
from tertulia.state.records import Participant

#: The facts that a stranger to a person may know: no secrets, goals or memories.
OUTWARD = ("age", "occupation", "traits", "big_five", "background", "lifestyle", "home", "style", "interests")

#: The facts by which a model describes how a person thinks and talks.
OF_CHARACTER = ("age", "occupation", "traits", "big_five", "background", "lifestyle", "style")

#: The facts that a person plans by.
FOR_PLANS = (*OF_CHARACTER, "home", "activity", "secret", "interests", "relation", "description", "setting")

#: The facts that a person thinks by, in the order of the prompt; how they speak is for prompts that ask for speech.
FOR_THOUGHTS = (
    *("age", "occupation", "background", "traits", "big_five", "description", "lifestyle", "home", "activity"),
    *("setting", "secret", "relation", "goal", "interests"),
)

_EXAMPLE = "basic_info.example"


class Fact(NamedTuple):
    """A fact of a person.

    Attributes:
        entry: The entry of a template that says it.
        id: The id of its unit within a block: the entry's, with a number where there are several.
        variables: The values of the entry.
    """

    entry: str
    id: str
    variables: Mapping[str, object]


def facts_of(
    person: Participant,
    entries: Collection[str],
    language: str = DEFAULT,
    big_five: Sequence[str] | None = None,
    descriptions: Sequence[str] | None = None,
) -> Iterator[Fact]:
    """Yield the facts of a person that have one of the entries, in the entries' order.

    Without words of character, the given poles are its `traits`.

    Args:
        big_five: The poles, as they are in a run; `None` for the scenario's.
        descriptions: How they think and talk, as it is in a run; `None` for the scenario's.
    """
    known = _known(person, person.big_five if big_five is None else big_five, language)
    if descriptions is not None:
        known["description"] = _values(*descriptions)
    for entry in entries:
        found = known[entry]
        for number, values in enumerate(found, start=1):
            name = "example_after" if values.get("after") else entry
            yield Fact(name, entry if len(found) == 1 and entry in _ONE else f"{entry}_{number}", values)


def lines_of(
    person: Participant, entries: Collection[str], language: str = DEFAULT, big_five: Sequence[str] | None = None
) -> list[str]:
    """Return facts of a person as lines in the third person; args as of `facts_of`."""
    fill = template("utterance", language).fill
    return [
        fill(f"basic_info.{fact.entry}", {**fact.variables, "speaker": person.persona.name})
        for fact in facts_of(person, entries, language, big_five)
    ]


def words_of_character(person: Participant) -> list[str]:
    """Return the words that say something of a person's character: character, way of speaking, descriptions."""
    persona = person.persona
    return [*filter(None, (persona.character, persona.style)), *person.descriptions]


def is_example(unit: str) -> bool:
    """Return whether a unit shows how a person speaks."""
    return unit.startswith(_EXAMPLE)


#: Entries of which a person mostly has one, whose unit then has no number.
_ONE = (
    *("name", "age", "occupation", "traits", "big_five", "background", "lifestyle", "home", "style", "activity"),
    *("secret", "setting", "interests"),
)


def _known(person: Participant, big_five: Sequence[str], language: str) -> dict[str, list[Mapping[str, object]]]:
    persona = person.persona
    words = persona.character.split(", ") if persona.character else []
    poles = translated_list(big_five, language)
    return {
        "name": _values(persona.name),
        "age": _values(persona.age),
        "occupation": _values(persona.occupation),
        "traits": _values(translated_list(words, language) or poles),
        "big_five": _values(poles if words else None),
        "background": _values(*persona.background),
        "lifestyle": _values(persona.lifestyle),
        "home": _values(persona.home),
        "style": _values(persona.style),
        "activity": _values(person.activity),
        "secret": _values(*person.secrets),
        "interests": _values(enumerated(person.interests, language)),
        "description": _values(*person.descriptions),
        "setting": _values(person.setting),
        "relation": [{"other": other, "value": text} for other, text in person.relations],
        "goal": _values(*(goal.text for goal in person.goals)),
        "example": [{"after": example.after, "value": example.text} for example in persona.examples],
    }


def _values(*values: object) -> list[Mapping[str, object]]:
    return [{"value": value} for value in values if value not in (None, "")]
