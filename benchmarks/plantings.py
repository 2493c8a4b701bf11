"""Faults planted in lines that make sense: per fault several ways, each of a line and where it is said.

A planting takes a line with its situation and gives both back with the fault, or `None` where the line offers no place
for it. What it draws is keyed. None uses a table of the rules.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from benchmarks.planted_details import DETAILS, as_own, with_another_detail
from tertulia.nodes.shared.sense import Fault
from tertulia.nodes.shared.situation import Situation


class Said(NamedTuple):
    """A line and where it is said."""

    situation: Situation
    text: str


Planting = Callable[[Said, Random, Sequence[str]], Said | None]

#: The fewest words of a line that nobody says twice by chance.
_TELLING = 5
_OPENINGS = ("Well", "Oh", "Yes", "Look", "Ah", "You know", "So", "Right", "Listen")
_EMPTY = """Thank you so much!|You're very welcome.|Don't mention it.|I'm so sorry.|No, I'm sorry.|No problem at all.
|That's very kind of you.|It's no trouble.|Of course.|I agree with you.|I completely agree.|You're right.|Exactly.
|Thanks again for everything.|It was my pleasure.|Happy to help.|Any time.|Sounds good.|That's fine by me.|Absolutely!
|I really appreciate that.|I couldn't agree more.|That sounds great.|Good to hear.|I'm glad to hear that.|Fair enough.
|Yes, that's true.|No worries.|Sure thing.|All right then.|I understand completely.|Please forgive me.|My apologies.
|It's all right, really.|Thank you, I will.|Same to you.|That means a lot to me.|You're too kind.|I'm very grateful.
|Thanks a million.|Yes, I know.|I see.|Quite right.
|I think so too.|So do I.|Me too.|Good, good.|Oh, it was nothing.|I owe you one.|Great, thanks!""".replace(
    "\n", ""
).split("|")
_MOJIBAKE = ("’", "–", "é", "“", "…")
_FORM = (
    '", "ended": false}',
    '{{"reply": "{text}',
    "<|im_end|>",
    "[INST] {text}",
    "```",
    "</s>",
    "\\n\\n{name}:",
    "### Response: {text}",
    "[/INST]",
    '{text}", "reason": "',
    "&quot;{text}&quot;",
    "<br>{text}",
)
_SELF = (
    "{me} here. {text}",
    "As {me}, I say: {text}",
    "{me} thinks that {lower}",
    "Well, {me}, {lower}",
    "{me} doesn't know. {text}",
    "{text} {me} will see to it.",
    "{text} That is what {me} wants.",
    "{me} is not sure about that. {text}",
)
_OTHER = (
    "I'm {you}. {text}",
    "My name is {you}. {text}",
    "As {you}, I think so too. {text}",
    "{text} I am {you}, after all.",
    "{you} here. {text}",
    "This is {you} speaking. {text}",
)


def plantings() -> Mapping[Fault, Mapping[str, Planting]]:
    """Return the ways of planting each fault, by name."""
    return {
        "repeats": {"own": _says_own, "other's": _says_others, "word": _word, "opening": _opening, "marks": _marks},
        "empty": {"third": _third},
        "misnames": {"self": _names_self, "other": _is_other},
        "broken": {"mojibake": _mojibake, "split": _split, "form": _form, "triple": _triple, "cut": _cut},
        "memory": {"plain": _takes, "after": _takes_after},
        "facts": {**{kind: _detail(kind) for kind in DETAILS}, "greeting": _greets, "today": _today, "here": _here},
        "reply": {"foreign": _foreign},
        "echo": {"instruction": _instruction, "words": _words_of_instruction, "memory": _recites},
    }


# --- repeats and empty ----------------------------------------------------------------------------------------------


def _earlier(said: Said, draw: Random, whose: str = "any") -> str | None:
    speaker = said.situation.speaker
    lines = [
        text
        for who, text in said.situation.before
        if len(text.split()) >= _TELLING and (whose == "any" or (who == speaker) == (whose == "own"))
    ]
    return draw.choice(lines) if lines else None


def _says(said: Said, text: str | None) -> Said | None:
    return None if text is None else said._replace(text=text)


def _says_own(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    return _says(said, _earlier(said, draw, "own"))


def _says_others(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    return _says(said, _earlier(said, draw, "other"))


def _word(said: Said, draw: Random, pool: Sequence[str]) -> Said | None:
    """Say an earlier line of eight words or more again with another word."""
    line = _earlier(said, draw)
    words = [] if line is None else line.split()
    if len(words) < 8:
        return None
    other = [word for word in draw.choice(pool).split() if word.isalpha() and word.islower()]
    words[draw.randrange(1, len(words) - 1)] = draw.choice(other or ["really"])
    return _says(said, " ".join(words))


def _opening(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    line = _earlier(said, draw)
    if line is None:
        return None
    names = tuple(name.split()[0] for name in said.situation.people)
    return _says(said, f"{draw.choice(_OPENINGS)}, {_lower(line, names)}")


def _marks(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    line = _earlier(said, draw)
    if line is None:
        return None
    ways = (line.rstrip(".!?") + "!", line.replace(",", ""), line.rstrip(".!?") + "...", line.upper(), line.lower())
    return _says(said, draw.choice([way for way in ways if way != line]))


def _third(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    """Say something without content after two such lines."""
    here = said.situation
    if len(here.people) != 2:
        return None
    (other,) = (name for name in here.people if name != here.speaker)
    lines = []
    for who, to in ((here.speaker, other), (other, here.speaker), (here.speaker, other)):
        text = " ".join(draw.sample(_EMPTY, draw.choice((1, 1, 2))))
        if draw.random() < 0.2:
            text = f"{text.rstrip('.!')}, {to.split()[0]}."
        lines.append((who, text))
    return Said(replace(here, before=[*here.before, *lines[:2]]), lines[2][1])


# --- names and broken words -----------------------------------------------------------------------------------------


def _lower(text: str, keep: tuple[str, ...] = ()) -> str:
    first = text.split()[0] if text.split() else ""
    return text if re.match(r"I\b", first) or first.startswith(keep or ("\0",)) else text[:1].lower() + text[1:]


def _names_self(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    me = said.situation.speaker
    return _says(said, draw.choice(_SELF).format(me=me.split()[0], text=said.text, lower=_lower(said.text)))


def _is_other(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    others = [name for name in said.situation.people if name != said.situation.speaker]
    name = draw.choice(others)
    return _says(said, draw.choice(_OTHER).format(you=draw.choice((name, name.split()[0])), text=said.text))


def _mojibake(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    """Read an apostrophe, a dash or an accent in another encoding."""
    text = said.text.replace("'", "’")
    if not any(sign in text for sign in _MOJIBAKE):
        text = text.replace(", ", " – ", 1) if ", " in text else f"{text.rstrip('.')}…"
    wrong = draw.choice(("cp1252", "latin-1"))
    return _says(said, text.encode().decode(wrong, "replace"))


def _split(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    """Part a contraction."""
    found = list(re.finditer(r"\b(\w+?)(n?)['’](t|s|re|ve|ll|d|m)\b", said.text))
    if not found:
        return None
    match = draw.choice(found)
    stem, end = match[1] + match[2], match[3]
    ways = [f"{stem}' {end}", f"{stem}’ {end}", f"{stem} '{end}", f"{stem} ' {end}"]
    if match[2]:
        ways += [f"{match[1]} n't", f"{match[1]}n", f"{match[1]}nâ"]
    return _says(said, said.text[: match.start()] + draw.choice(ways) + said.text[match.end() :])


def _form(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    sign = draw.choice(_FORM)
    filled = sign.format(text=said.text, name=said.situation.speaker) if "{text}" in sign or "{name}" in sign else sign
    return _says(said, filled if "{text}" in sign else said.text + filled)


def _triple(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    """Say a word, or two words, three times in a row."""
    words = said.text.split()
    at = draw.randrange(len(words))
    size = draw.choice((1, 1, 2))
    part = [*words[at : at + size - 1], re.sub(r"\W+$", "", words[at + size - 1])] if at + size <= len(words) else []
    if len("".join(part)) < 4 or not all(re.fullmatch(r"[\w'’-]+", word) for word in part):
        return None
    return _says(said, " ".join([*words[:at], *part * 2, *words[at:]]))


def _cut(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    """Break off within a word, or leave the end of a word away from its beginning."""
    words = said.text.split()
    long = [at for at, word in enumerate(words) if at > 2 and word.isalpha() and len(word) > 5]
    if not long:
        return None
    at = draw.choice(long)
    size = draw.randrange(2, len(words[at]) - 2)
    cut = words[at][:size]
    rest = [f"{cut} {words[at][size:]}", *words[at + 1 :]] if draw.random() < 0.5 else [cut]
    return _says(said, " ".join([*words[:at], *rest]))


# --- memories, facts, replies, the prompt ---------------------------------------------------------------------------


def _takes(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    here = said.situation
    owned = [(name, text) for name in here.people if name != here.speaker for text in here.known.get(name, ())]
    own = [as_own(text, name) for name, text in owned]
    fitting = [text for text in own if text is not None]
    return _says(said, draw.choice(fitting) if fitting else None)


def _takes_after(said: Said, draw: Random, pool: Sequence[str]) -> Said | None:
    taken = _takes(said, draw, pool)
    if taken is None:
        return None
    first = re.split(r"(?<=[.!?])\s", said.text)[0]
    return _says(said, f"{first} {taken.text}")


def _detail(kind: str) -> Planting:
    def plant(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
        here = said.situation
        own = (as_own(text, here.speaker) for text in here.known.get(here.speaker, ()))
        memories = [text for text in own if text]
        draw.shuffle(memories)
        changed = (with_another_detail(kind, text, draw) for text in memories)
        return _says(said, next(filter(None, changed), None))

    return plant


def _greets(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    """Greet, or speak of now, at the wrong time of the day."""
    if said.situation.time is None:
        return None
    hour = said.situation.time.hour
    ways: tuple[str, ...] = ()
    if 6 <= hour < 11:
        ways = ("Good evening. {}", "Good afternoon. {}", "{} What a lovely evening this is.", "{} Good night!")
    elif 13 <= hour < 15:
        ways = (
            "Good morning. {}",
            "{} It's so early in the morning.",
            "Good evening. {}",
            "{} It's a beautiful morning.",
        )
    elif hour >= 19:
        ways = ("Good morning. {}", "{} It's a beautiful morning.", "Good afternoon. {}", "{} What a sunny afternoon!")
    return _says(said, draw.choice(ways).format(said.text) if ways else None)


_WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _today(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    time = said.situation.time
    if time is None:
        return None
    day = draw.choice([name for at, name in enumerate(_WEEK) if (at - time.weekday()) % 7 in (2, 3, 4, 5)])
    ways = (
        "It's {day} today. {text}",
        "{text} Today is {day}.",
        "{text} Tomorrow is {day}.",
        "{text} It is {day}, you know.",
        "{text} It's only {clock}.",
        "{text} It's {clock} already.",
    )
    clock = f"{(time.hour + draw.choice((3, 4, 5, 7))) % 12 or 12} o'clock"
    return _says(said, draw.choice(ways).format(day=day, text=said.text, clock=clock))


_ELSEWHERE = (
    "library",
    "hospital",
    "kitchen",
    "harbour",
    "school",
    "church",
    "market",
    "beach",
    "train",
    "forest",
    "bakery",
)


def _here(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    place = said.situation.place
    if not place:
        return None
    other = draw.choice([name for name in _ELSEWHERE if name not in place.casefold()])
    ways = (
        "{text} It's quiet here in the {other}.",
        "Here at the {other} nobody minds. {text}",
        "{text} I like it in this {other}.",
        "{text} We are in the {other}, after all.",
        "Welcome to the {other}. {text}",
    )
    return _says(said, draw.choice(ways).format(text=said.text, other=other))


def _foreign(said: Said, draw: Random, pool: Sequence[str]) -> Said | None:
    """Answer a question with a line of another conversation."""
    before = said.situation.before
    asks = before and before[-1][0] != said.situation.speaker and before[-1][1].rstrip().endswith("?")
    return _says(said, draw.choice(pool)) if asks else None


def _instructions(said: Said) -> list[str]:
    return [
        part for text in said.situation.shown for part in re.findall(r"[^.!?\n]+[.!?]", text) if len(part.split()) >= 8
    ]


def _instruction(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    found = _instructions(said)
    return _says(said, draw.choice(found).strip() if found else None)


def _words_of_instruction(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    """Say seven words or more of an instruction within a line."""
    found = _instructions(said)
    if not found:
        return None
    words = draw.choice(found).split()
    size = draw.randrange(7, len(words) + 1)
    at = draw.randrange(len(words) - size + 1)
    return _says(said, f"{said.text} {' '.join(words[at : at + size])}")


def _recites(said: Said, draw: Random, _pool: Sequence[str]) -> Said | None:
    """Say a memory as the prompt has it: of oneself as of somebody else."""
    me = said.situation.speaker
    known = [text for text in said.situation.known.get(me, ()) if me.split()[0] in text and len(text.split()) > 4]
    if not known:
        return None
    memory = draw.choice(known)
    return _says(said, draw.choice((memory, f"{said.text} {memory}", f"Yes. {memory}")))
