"""Questions after a conversation in a town, and the sentences of memories. Source: Park et al. 2023, §4.1 and §4.2.

The model is asked about a person, not in the role of that person.
"""

from collections.abc import Sequence
from datetime import datetime

from prompts.cognition import Question
from prompts.templates import template
from state.records import Turn
from state.town import Encounter

_SOURCE = "town"

#: The three numbers of an insight's evidence.
EVIDENCE = ("first", "second", "third")


def ask_summary(name: str, partner: str, turns: Sequence[Turn]) -> Question:
    """Return the question what a conversation was about, and what a participant takes away from it."""
    return Question(
        "summarise",
        form={"summary": "what they talked about", "thought": f"what {name} takes away from it"},
        example={
            "summary": "They went through what is left to do before the fair, and who could lend a cart.",
            "thought": "There may be too little time left, and nobody wants to be the one to say so.",
        },
        items=[template(_SOURCE).fill("summarise.line", {"name": turn.speaker, "text": turn.text}) for turn in turns],
        variables={"name": name, "other": partner},
        source=_SOURCE,
    )


def ask_importance(name: str, texts: Sequence[str]) -> Question:
    """Return the question how important each of several memories is. Source: Park et al. 2023, §4.1."""
    numbers = [str(number) for number in range(1, len(texts) + 1)]
    ratings = (4, 2, 7)
    return Question(
        "importance",
        form=dict.fromkeys(numbers, "1 to 10"),
        example={number: ratings[index % len(ratings)] for index, number in enumerate(numbers)},
        items=_numbered(texts),
        variables={"name": name},
        source=_SOURCE,
    )


def ask_questions(name: str, texts: Sequence[str], fields: Sequence[str]) -> Question:
    """Return the question which questions could be asked about a person's last days. Source: Park et al. 2023, §4.2."""
    examples = (
        "Whom does she turn to when something goes wrong?",
        "What is she saving the money for?",
        "Why has she stopped going to the harbour?",
    )
    return Question(
        "questions",
        form=dict.fromkeys(fields, "a question"),
        example=dict(zip(fields, examples, strict=True)),
        items=_numbered(texts),
        variables={"name": name},
        source=_SOURCE,
    )


def ask_insight(name: str, question: str, texts: Sequence[str]) -> Question:
    """Return the question for an insight, and for the memories that it rests on. Source: Park et al. 2023, §4.2."""
    return Question(
        "insight",
        form={"insight": "one sentence", **dict.fromkeys(EVIDENCE, "the number of a memory")},
        example={"insight": "She trusts people who say little and turn up early.", "first": 2, "second": 5, "third": 1},
        items=_numbered(texts),
        variables={"name": name, "question": question},
        source=_SOURCE,
    )


def summary_memory(encounter: Encounter, name: str, partner: str, summary: str) -> str:
    """Return the sentence of the memory of a conversation."""
    entry = "memory.summary" if encounter.place is None else "memory.summary_at"
    values = {"name": name, "other": partner, "place": encounter.place, "value": summary, "date": _day(encounter.time)}
    return template(_SOURCE).fill(entry, values)


def seen_memory(encounter: Encounter, partner: str, activity: str) -> str:
    """Return the sentence of the memory of what the partner was doing."""
    values = {"other": partner, "activity": activity, "date": _day(encounter.time)}
    return template(_SOURCE).fill("memory.seen", values)


def _numbered(texts: Sequence[str]) -> list[str]:
    fill = template(_SOURCE).fill
    return [fill("statement", {"number": number, "value": text}) for number, text in enumerate(texts, start=1)]


def _day(time: datetime) -> str:
    return f"{time:%A} {time.day} {time:%B}"
