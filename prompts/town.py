"""Questions after a conversation in a town, and the sentences of memories. Source: Park et al. 2023, §4.1 and §4.2.

The model is asked about a person, not in the role of that person.
"""

from collections.abc import Sequence
from datetime import datetime

from tertulia.prompts.cognition import Question, clock
from tertulia.prompts.templates import template
from tertulia.prompts.translations import translated
from tertulia.state.agreements import Entry
from tertulia.state.languages import DEFAULT
from tertulia.state.records import Turn
from tertulia.state.town import Encounter

_SOURCE = "town"

#: The fields of the three questions of a reflection.
QUESTIONS = ("question_1", "question_2", "question_3")
#: The three numbers of an insight's evidence.
EVIDENCE = ("first", "second", "third")
#: The fields of an agreement, and the values of the first of them.
AGREEMENT = ("agreed", "by", "what", "days", "hour", "minute", "place")
AGREED = ("none", "meeting", "task")


def visit(other: str, place: str | None, language: str = DEFAULT) -> str:
    """Return the activity of a visitor to another, with the place they come from, if known: it follows `X was`."""
    entry = "visit" if place is None else "visit_from"
    return template(_SOURCE, language).fill(entry, {"other": other, "place": place})


def ask_summary(name: str, partner: str, turns: Sequence[Turn], language: str = DEFAULT) -> Question:
    """Return the question for the subject of a conversation, and for a participant's thought after it."""
    fill = template(_SOURCE, language).fill
    fields = ("summary", "thought")
    return Question(
        "summarise",
        form={field: fill(f"answer.{field}", {"name": name}) for field in fields},
        example={field: fill(f"example.{field}", {}) for field in fields},
        items=[fill("summarise.line", {"name": turn.speaker, "text": turn.text}) for turn in turns],
        variables={"name": name, "other": partner},
        source=_SOURCE,
    )


def ask_agreement(name: str, partner: str, turns: Sequence[Turn], began: datetime, language: str = DEFAULT) -> Question:
    """Return the question what two people agreed on in their conversation."""
    fill = template(_SOURCE, language).fill
    texts = {field: fill(f"example.{field}", {}) for field in ("what", "place")}
    return Question(
        "agreement",
        form={field: fill(f"answer.{field}", {}) for field in AGREEMENT},
        example={"agreed": AGREED[1], "by": name, "what": texts["what"], "days": 2, "hour": 15, "minute": 30}
        | {"place": texts["place"]},
        items=[fill("summarise.line", {"name": turn.speaker, "text": turn.text}) for turn in turns],
        variables={"name": name, "other": partner, "date": _day(began, language), "clock": clock(began)},
        source=_SOURCE,
    )


def ask_importance(name: str, texts: Sequence[str], language: str = DEFAULT) -> Question:
    """Return the question how important each of several memories is. Source: Park et al. 2023, §4.1."""
    numbers = [str(number) for number in range(1, len(texts) + 1)]
    ratings = (4, 2, 7)
    return Question(
        "importance",
        form=dict.fromkeys(numbers, template(_SOURCE, language).fill("answer.rating", {})),
        example={number: ratings[index % len(ratings)] for index, number in enumerate(numbers)},
        items=_numbered(texts, language),
        variables={"name": name},
        source=_SOURCE,
    )


def ask_questions(name: str, texts: Sequence[str], language: str = DEFAULT) -> Question:
    """Return the question which questions could be asked about a person's last days. Source: Park et al. 2023, §4.2."""
    fill = template(_SOURCE, language).fill
    return Question(
        "questions",
        form=dict.fromkeys(QUESTIONS, fill("answer.question", {})),
        example={field: fill(f"example.{field}", {}) for field in QUESTIONS},
        items=_numbered(texts, language),
        variables={"name": name},
        source=_SOURCE,
    )


def ask_insight(name: str, question: str, texts: Sequence[str], language: str = DEFAULT) -> Question:
    """Return the question for an insight, and for the memories that it rests on. Source: Park et al. 2023, §4.2."""
    fill = template(_SOURCE, language).fill
    return Question(
        "insight",
        form={"insight": fill("answer.insight", {}), **dict.fromkeys(EVIDENCE, fill("answer.memory", {}))},
        example={"insight": fill("example.insight", {}), **dict(zip(EVIDENCE, (2, 5, 1), strict=True))},
        items=_numbered(texts, language),
        variables={"name": name, "question": question},
        source=_SOURCE,
    )


def summary_memory(encounter: Encounter, name: str, partner: str, summary: str, language: str = DEFAULT) -> str:
    """Return the sentence of the memory of a conversation."""
    entry = ("memory.summary" if encounter.appointment is None else "memory.agreed") + (
        "_at" if encounter.place else ""
    )
    date = _day(encounter.time, language)
    values = {"name": name, "other": partner, "place": encounter.place, "value": summary, "date": date}
    return template(_SOURCE, language).fill(entry, values)


def seen_memory(encounter: Encounter, partner: str, activity: str, language: str = DEFAULT) -> str:
    """Return the sentence of the memory of the partner's activity."""
    values = {"other": partner, "activity": activity, "date": _day(encounter.time, language)}
    return template(_SOURCE, language).fill("memory.seen", values)


def keeping(other: str, language: str = DEFAULT) -> str:
    """Return the activity of a person at the place at which they had agreed to meet another: it follows `X was`."""
    return template(_SOURCE, language).fill("keeping", {"other": other})


def agreement_memory(entry: Entry, name: str, partner: str, language: str = DEFAULT) -> str:
    """Return the sentence of the memory of an agreement of two."""
    agreement, place = entry.agreement, entry.place
    values = {"name": name, "other": partner, "place": place, "value": agreement.what}
    values |= {"date": _day(entry.made, language), "doer": agreement.doer}
    if agreement.time is not None:
        values |= {"time": _day(agreement.time, language), "clock": clock(agreement.time)}
    kind = "task" if agreement.kind == "task" else "meeting_at" if place else "meeting"
    return template(_SOURCE, language).fill(f"memory.{kind}", values)


def _numbered(texts: Sequence[str], language: str) -> list[str]:
    fill = template(_SOURCE, language).fill
    return [fill("statement", {"number": number, "value": text}) for number, text in enumerate(texts, start=1)]


def _day(time: datetime, language: str) -> str:
    weekday, month = translated(f"{time:%A}", language), translated(f"{time:%B}", language)
    return template(_SOURCE, language).fill(
        "date", {"weekday": weekday, "day": translated(str(time.day), language), "month": month}
    )
