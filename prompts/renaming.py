"""Other names for people, throughout a prompt and back again. Source: APP §6 (HPSS and TLCS of Table 4).

People's own full names and first names are replaced as whole words, possessives too. A name that is a part of a word or
of somebody else's name stays: `Annual`, `Ann-Marie`, `Ann Marie Cole` and `Mary Ann` for Ann Bell.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import yaml

from state.errors import UsageError, nearest_hint
from state.records import Prompt
from state.variation import NAME_CHOICES, read_names

#: Words with a capital letter that stand beside a name without being part of one.
_NO_NAMES = frozenset(
    (
        *("I", "Hello", "Hi", "Hey", "Dear", "Mr", "Mrs", "Ms", "Miss", "Dr", "Doctor", "Prof", "Professor", "Captain"),
        *("Sir", "Madam", "Lady", "Lord", "Uncle", "Aunt", "Father", "Mother", "Brother", "Sister"),
        *("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "January", "February", "March"),
        *("April", "May", "June", "July", "August", "September", "October", "November", "December"),
    )
)
_NEXT_WORD = re.compile(r" ([^\W\d_][^\W_]*)")
_WORD_BEFORE = re.compile(r"([^\W\d_][^\W_]*) $")
_OPENING_QUOTE = re.compile(r"(?<!\w)['‘](?=\w)")
#: Behind these a sentence begins, or a line, a list, a quotation.
_BEGINNINGS = frozenset('.!?…:"“”\n([{-')


@dataclass(frozen=True)
class Renaming:
    """What people are called in prompts.

    Attributes:
        names: By their own full name, the one that they have there; only of those who have another.
        people: The own names of all.
    """

    names: Mapping[str, str]
    people: tuple[str, ...]

    def name_of(self, person: str) -> str:
        """Return what somebody is called in prompts."""
        return self.names.get(person, person)

    def rename(self, text: str) -> str:
        """Return a text with the names that people have in prompts."""
        return _replaced(text, _forms(self.names, self.people))

    def put_back(self, text: str) -> str:
        """Return a text with people's own names; last names by themselves become theirs too."""
        own = {new: old for old, new in self.names.items()}
        called = [self.name_of(person) for person in self.people]
        lasts = Counter(name.split()[-1] for name in called)
        last_names = {
            new.split()[-1]: old.split()[-1] for new, old in own.items() if " " in new and lasts[new.split()[-1]] == 1
        }
        return _replaced(text, {**last_names, **_forms(own, called)}, frozenset(last_names))


def renaming_of(people: Sequence[str], choice: str) -> Renaming:
    """Return what people are called in prompts.

    Args:
        people: Their own names, in the scenario's order.
        choice: `own`, `famous`, `rare` or `A=B,C=D`; of A the first name is enough where only one has it.

    Raises:
        UsageError: Nobody is called A, somebody else is called B, or the list has fewer names than there are people.
    """
    if choice == NAME_CHOICES[0]:
        return Renaming({}, tuple(people))
    if choice in NAME_CHOICES:
        listed = _lists()[choice]
        if len(people) > len(listed):
            raise UsageError(
                f"names={choice} has {len(listed)} names and here are {len(people)} people; name them: names=A=B,C=D"
            )
        return Renaming(dict(zip(people, listed, strict=False)), tuple(people))
    firsts = Counter(map(first_name, people))
    known = {first_name(person): person for person in people if firsts[first_name(person)] == 1}
    known |= {person: person for person in people}
    names: dict[str, str] = {}
    for old, new in read_names(choice).items():
        if old not in known:
            raise UsageError(f"names={choice}: nobody here is called {old!r}{nearest_hint(old, people)}")
        if known[old] in names:
            raise UsageError(f"names={choice}: {known[old]} stands twice; everybody has one name")
        names[known[old]] = new
    called = Counter(names.get(person, person) for person in people)
    if twice := next((name for name, times in called.items() if times > 1), None):
        raise UsageError(f"names={choice}: two people would be called {twice}; everybody has a name of their own")
    return Renaming(names, tuple(people))


def renamed(prompt: Prompt, renaming: Renaming) -> Prompt:
    """Return the prompt with the names that people have in prompts, in every unit, and as speakers."""
    units = tuple(
        unit.model_copy(
            update={
                "text": renaming.rename(unit.text),
                "speaker": None if unit.speaker is None else renaming.name_of(unit.speaker),
            }
        )
        for unit in prompt.units
    )
    return prompt.model_copy(update={"units": units, "speaker": renaming.name_of(prompt.speaker)})


def first_name(name: str) -> str:
    """Return the first word of a name that is no title: `Dr. Ana Bell` is Ana."""
    words = name.split()
    return next((word for word in words[:-1] if word.rstrip(".") not in _NO_NAMES), words[-1])


def _forms(names: Mapping[str, str], people: Sequence[str]) -> dict[str, str]:
    """Return what is replaced by what: full names, and first names that one person alone has."""
    firsts = Counter(map(first_name, people))
    first_names = {
        first_name(old): first_name(new) if " " in old else new
        for old, new in names.items()
        if firsts[first_name(old)] == 1 and (first_name(old) not in people or first_name(old) == old)
    }
    return {**first_names, **names}


def _replaced(text: str, forms: Mapping[str, str], last_names: frozenset[str] = frozenset()) -> str:
    if not forms:
        return text

    def replace(match: re.Match[str]) -> str:
        name, possessive = match["name"], match["possessive"] or ""
        if _is_part_of_a_name(text, match.start(), match.end("name"), name in last_names):
            return match[0]
        new = forms[name]
        if possessive and name.endswith("s") and not new.endswith("s") and not _in_quotation(text[: match.start()]):
            possessive += "s"  # `James' boat` becomes `Ana's boat`
        return new + possessive

    return _pattern(tuple(forms)).sub(replace, text)


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(
        rf"(?<!\w)(?<!\w[-'’.@])(?P<name>{'|'.join(map(re.escape, longest_first))})(?![-@]?\w)"
        r"(?P<possessive>['’](?=\s+\w))?"
    )


def _is_part_of_a_name(text: str, start: int, end: int, is_last_name: bool) -> bool:
    """Whether a word with a capital letter beside it makes it somebody else's name, or a place's.

    A word that begins a sentence has a capital letter anyway, so before a name it says nothing; before a last name by
    itself it does.
    """
    after = _NEXT_WORD.match(text, end)
    if after and after[1][0].isupper() and after[1] not in _NO_NAMES:
        return True
    before = text[max(0, start - 80) : start]
    word = _WORD_BEFORE.search(before)
    if word is None or not word[1][0].isupper() or word[1] in _NO_NAMES:
        return False
    rest = before[: word.start()].rstrip(" ")
    begins_sentence = not rest or rest[-1] in _BEGINNINGS
    return is_last_name or not begins_sentence


def _in_quotation(before: str) -> bool:
    """Whether a quotation was opened with a single quote before, in the same line: then one may end it."""
    return _OPENING_QUOTE.search(before.rpartition("\n")[2]) is not None


@lru_cache
def _lists() -> dict[str, list[str]]:
    """Return the names of `famous` and `rare`."""
    file = resources.files("prompts").joinpath("templates", "names.yaml")
    lists: dict[str, list[str]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return lists
