"""Who a line speaks to: whom it asks or names, or whether it is a question to everybody. No model is asked.

The current speaker selects the next (Sacks, Schegloff and Jefferson 1974, rule 1a); ChatAgents App. A names mention
response as a module that may be added, and David speaks "when prompted" (§IV-C).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from state.records import Turn

_SENTENCE = re.compile(r"[^.!?…。！？؟;]*[.!?…。！？؟;]*")
_QUESTION = re.compile(r"[?？؟]")


@dataclass(frozen=True)
class Address:
    """Who a line speaks to.

    Attributes:
        asked: Names of those whom it asks something.
        named: Names of all whom it names, those it asks among them.
        is_open_question: Whether it is a question to everybody who hears it.
    """

    asked: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    is_open_question: bool = False


def address_of(line: Turn | None, listeners: Sequence[str]) -> Address:
    """Return who a line speaks to.

    Asked are those who are named in a question; where no question names anybody, all whom the line names.

    Args:
        line: The line; `None`, and a silence, speak to nobody.
        listeners: Names of those who may hear it; the speaker among them does not count.
    """
    if line is None or line.speaker is None:
        return Address()
    others = [name for name in listeners if name != line.speaker]
    named = tuple(name for name in others if is_named(name, line.text))
    questions = [sentence for sentence in _SENTENCE.findall(line.text) if _QUESTION.search(sentence)]
    if not questions:
        return Address(named=named)
    in_questions = tuple(name for name in named if any(is_named(name, question) for question in questions))
    return Address(asked=in_questions or named, named=named, is_open_question=not named)


def is_named(name: str, text: str) -> bool:
    """Whether a text contains a person's full name or first name as a whole word."""
    forms = {name, name.split()[0]} if name.split() else {name}
    return any(re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text, re.IGNORECASE) for form in forms)
