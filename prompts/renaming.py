"""Other names for people, throughout a prompt and back again. Source: APP §6 (HPSS and TLCS of Table 4).

People's own full names and first names are replaced as whole words, possessives too. A name that is a part of a word or
of another person's name stays: `Annual`, `Ann-Marie`, `O'Ann`, `Ann Marie Cole` and `Mary Ann` for Ann Bell. Behind a
word that a vowel shortens it changes: `d'Ann`, `qu'Ann`.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import yaml

from tertulia.state.errors import UsageError, nearest_hint
from tertulia.state.names import Names, composed
from tertulia.state.records import Prompt
from tertulia.state.variation import NAME_CHOICES, read_names

#: A letter or digit, but none of a script that does not part its words (Thai to Khmer, Chinese, Japanese, Korean).
_LETTER = r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
_NEXT_WORD = re.compile(r" (?:(?:van|von|de|der|den|da|di|du|del|dos|le|la|bin|ibn|al) )*([^\W\d_][^\W_]*)")
_WORD_BEFORE = re.compile(r"([^\W\d_][^\W_]*|St\.) $")
_APOSTROPHE_BEFORE = re.compile(rf"{_LETTER}['’]$")
#: A word of French, Italian or Catalan that a vowel behind it shortens. `D'Angelo` and `L'Oréal` are names.
_ELISION = re.compile(rf"(?<!{_LETTER})(?:[cdjlmnst]|\w*(?:[Qq]u|ll))['’]$")
_OPENING_QUOTE = re.compile(r"(?<!\w)['‘](?=\w)")
#: Behind these a sentence begins, or a line, a list, a quotation.
_BEGINNINGS = frozenset('.!?…:"“”\n([{-')


@dataclass(frozen=True)
class Renaming:
    """The names that people have in prompts.

    Attributes:
        names: The new names by full original names, of all people with another name.
        people: The original full names of all.
    """

    names: Mapping[str, str]
    people: tuple[str, ...]

    def name_of(self, person: str) -> str:
        """Return the name that a person has in prompts."""
        return self.names.get(person, person)

    def rename(self, text: str) -> str:
        """Return a text with the new names."""
        return _replaced(text, _forms(self.names, self.people)) if self.names else text

    def put_back(self, text: str) -> str:
        """Return a text with the original names; new last names that occur alone are replaced, too."""
        if not self.names:
            return text
        originals = {new: old for old, new in self.names.items()}
        called = [self.name_of(person) for person in self.people]
        counts = Counter(name.split()[-1] for name in called)
        taken = {*called, *map(first_name, called), *(person.split()[-1] for person in self.people)}
        last_names = {
            new.split()[-1]: old.split()[-1]
            for new, old in originals.items()
            if counts[new.split()[-1]] == 1 and new.split()[-1] not in taken
        }
        return _replaced(text, last_names | _forms(originals, called))


def renaming_of(people: Sequence[str], choice: str) -> Renaming:
    """Return the names that people have in prompts.

    Args:
        people: Their original names, in the scenario's order.
        choice: `own`, `famous`, `rare` or `A=B,C=D`; for A a first name that only one person has is enough. Names of
            absent people are passed over: in a town, only two are there at a time.

    Raises:
        UsageError: Two would be called the same, or the list has fewer names than there are people.
    """
    if choice == NAME_CHOICES[0]:
        return Renaming({}, Names.of(people))
    if choice in NAME_CHOICES:
        listed = _lists()[choice]
        if len(people) > len(listed):
            raise UsageError(
                f"names={choice} has {len(listed)} names and here are {len(people)} people; name them: names=A=B,C=D"
            )
        return Renaming(dict(zip(people, listed, strict=False)), Names.of(people))
    known = _known_as(people)
    names: dict[str, str] = {}
    for old, new in read_names(choice).items():
        if old not in known:
            continue
        if known[old] in names:
            raise UsageError(f"names={choice}: {known[old]} stands twice; everybody has one name")
        names[known[old]] = new
    called = Counter(names.get(person, person) for person in people)
    if twice := next((name for name, times in called.items() if times > 1), None):
        raise UsageError(f"names={choice}: two people would be called {twice}; everybody has a name of their own")
    return Renaming(names, Names.of(people))


def check_known(people: Sequence[str], choice: str) -> None:
    """Raise `UsageError` if the A of a pair `A=B` names no person here, or more than one."""
    known = _known_as(people)
    for old in read_names(choice) if choice not in NAME_CHOICES else ():
        if old not in known:
            several = [person for person in people if first_name(person) == old]
            hint = f"; say which of {', '.join(several)}" if several else nearest_hint(old, people)
            raise UsageError(f"names={choice}: {'more than one' if several else 'nobody'} here is called {old!r}{hint}")


def check_names(people: Sequence[str], choice: str) -> None:
    """Refuse names that can't be given to these people; `UsageError` as `check_known` and `renaming_of`."""
    check_known(people, choice)
    renaming_of(people, choice)


def renamed(prompt: Prompt, renaming: Renaming) -> Prompt:
    """Return the prompt with the new names, in the texts of all units and as speakers."""
    units = []
    for unit in prompt.units:
        speaker = None if unit.speaker is None else renaming.name_of(unit.speaker)
        units.append(unit.model_copy(update={"text": renaming.rename(unit.text), "speaker": speaker}))
    return prompt.model_copy(update={"units": tuple(units), "speaker": renaming.name_of(prompt.speaker)})


def first_name(name: str) -> str:
    """Return the first word of a name that is no title: `Dr. Ana Bell` is Ana."""
    return _without_titles(name)[0]


def _known_as(people: Sequence[str]) -> dict[str, str]:
    """Return people by their full names, and by first names that only one person has."""
    firsts = Counter(map(first_name, people))
    by_first = {first_name(person): person for person in people if firsts[first_name(person)] == 1}
    return {composed(name): person for name, person in (by_first | {person: person for person in people}).items()}


def _without_titles(name: str) -> list[str]:
    words = name.split()
    first = next((n for n, word in enumerate(words[:-1]) if word.rstrip(".") not in _words("beside")), len(words) - 1)
    return words[first:]


def _forms(names: Mapping[str, str], people: Sequence[str]) -> dict[str, str]:
    """Return the replacements: full names, with titles or without, and first names that only one person has.

    All other full names are replaced by themselves, so that no part of them is taken for a person's name. A first name
    becomes the new first name, or the full new name if several people have that first name.
    """
    firsts = Counter(map(first_name, people))
    new_firsts = Counter(first_name(names.get(person, person)) for person in people)
    forms = {}
    for old, new in names.items():
        first, new_first = first_name(old), first_name(new)
        if firsts[first] == 1:
            forms[first] = new_first if new_firsts[new_first] == 1 and " " in old else new
        if len(bare := _without_titles(old)) > 1:
            forms[" ".join(bare)] = " ".join(_without_titles(new))
    forms |= {person: names.get(person, person) for person in people}
    return {" ".join(old.split()): new for old, new in forms.items()}


def _replaced(text: str, forms: Mapping[str, str]) -> str:
    if all(old == new for old, new in forms.items()):
        return text

    def replace(match: re.Match[str]) -> str:
        name, possessive = " ".join(match["name"].split()), match["possessive"] or ""
        start, end = match.span("name")
        if _is_part_of_a_word(text, start, end) or _is_part_of_a_name(text, start, end):
            return match[0]
        new = forms[name]
        if possessive and name.endswith("s") and not new.endswith("s") and not _in_quotation(text[: match.start()]):
            possessive += "s"  # `James' boat` becomes `Ana's boat`
        return new + possessive

    return _pattern(tuple(forms)).sub(replace, text)


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(names, key=len, reverse=True)
    written = "|".join(r"[^\S\n]+".join(map(re.escape, name.split())) for name in longest_first)
    return re.compile(
        rf"(?<!{_LETTER})(?<!{_LETTER}[-.@])(?P<name>{written})(?![-@]?{_LETTER})(?P<possessive>['’](?=\s+\w))?"
    )


def _is_part_of_a_word(text: str, start: int, end: int) -> bool:
    """Whether an apostrophe, or marks that belong to a letter, such as accents and vowel signs, go on with the word."""
    before = text[max(0, start - 20) : start]
    if _APOSTROPHE_BEFORE.search(before) and not _ELISION.search(before):
        return True
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return any(unicodedata.category(character).startswith("M") for character in around)


def _is_part_of_a_name(text: str, start: int, end: int) -> bool:
    """Whether a capitalised neighbour makes a word part of another person's name, or of a place's.

    A word that begins a sentence has a capital letter anyway: there it is a name unless English sentences often begin
    with it, or it is of another language.
    """
    after = _NEXT_WORD.match(text, end)
    if after and after[1][0].isupper() and after[1] not in _words("beside"):
        return True
    before = text[max(0, start - 80) : start]
    word = _WORD_BEFORE.search(before)
    if word is None or not word[1][0].isupper() or word[1] in _words("beside"):
        return False
    rest = before[: word.start()].rstrip(" ")
    if rest and rest[-1] not in _BEGINNINGS:
        return True
    return word[1].isascii() and word[1].lower() not in _words("beginning")


def _in_quotation(before: str) -> bool:
    """Whether a quotation was opened with a single quote before, in the same line: then one may end it."""
    return _OPENING_QUOTE.search(before.rpartition("\n")[2]) is not None


def _words(of: str) -> frozenset[str]:
    return frozenset(_lists()[of])


@lru_cache
def _lists() -> dict[str, list[str]]:
    """Return the names of `famous` and `rare`, and the words that occur beside names."""
    file = resources.files("tertulia.prompts").joinpath("templates", "names.yaml")
    lists: dict[str, list[str]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return lists
