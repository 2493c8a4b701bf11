"""What the server answers: sentences of one kind to everybody, choices among what is offered, and nobody ends early."""

import ast
import json
import random
import re
from typing import Any

from support.protocol_server import text_of, values_for

_THINGS = ("the ferry", "the baker", "the harbour", "a long walk", "the timetable", "supper", "the lake", "the park")

#: AutoGen's question for the next speaker (and our LangGraph program's), with the names; Concordia's choice, with what
#: may be answered.
_NEXT_ROLE = re.compile(r"select the next role from (\[.*?\]) to play")
_CHOICE = "Respond EXACTLY with one of the following strings:\n"
_OPTION = re.compile(r"^\s*\((\w)\) (.+)$", re.MULTILINE)
#: Agent Framework's: a line for each who may be named, after these words.
_ROLES = "valid participant names (case-sensitive) and their descriptions:\n"
_TURNS = re.compile(r"exactly (\d+) turns")


def answer(request: dict[str, Any]) -> str:
    """Return the text of the answer to a request; the same for the same request."""
    drawn = random.Random(json.dumps(request["messages"]) + str(request.get("seed")))
    asked = text_of(request["messages"][-1]["content"])
    if "dialog" in json.dumps(request.get("response_format", {})):
        return _whole_dialog(json.dumps(request["messages"]), drawn)
    if _ROLES in asked:
        names = re.findall(r"^(\w+): ", asked.rpartition(_ROLES)[2], re.MULTILINE)
        return json.dumps({"terminate": False, "reason": sentence(drawn), "next_speaker": drawn.choice(names)})
    if _CHOICE in asked:
        return _choice(asked, drawn)
    if roles := _NEXT_ROLE.findall(asked):
        return str(drawn.choice(ast.literal_eval(roles[-1])))
    if _is_form(asked):
        return json.dumps({**values_for(request), **_texts_and_endings(asked, drawn)})
    return sentence(drawn)


def sentence(drawn: random.Random) -> str:
    """Return an utterance."""
    first, second, third = drawn.sample(_THINGS, 3)
    return f"I keep thinking of {first} and {second}, and I would rather talk about {third} before it gets late."


def _is_form(asked: str) -> bool:
    """Whether the last line in braces is a form of Tertulia's."""
    braces = re.findall(r"\{.*\}", asked)
    try:
        return bool(braces) and isinstance(json.loads(braces[-1]), dict)
    except json.JSONDecodeError:
        return False


def _texts_and_endings(asked: str, drawn: random.Random) -> dict[str, str | bool]:
    """Return the fields of a form that are free text, or that would end a conversation."""
    form = json.loads(re.findall(r"\{.*\}", asked)[-1])
    chosen = re.compile(r"a whole number from |one of: |true or false")
    texts: dict[str, str | bool] = {name: sentence(drawn) for name, of in form.items() if not chosen.match(of)}
    return texts | {name: False for name, of in form.items() if of == "true or false" and "end" in name}


def _choice(asked: str, drawn: random.Random) -> str:
    """Return one of what Concordia offers: the one that means no, where there is one."""
    offered = asked.rpartition(_CHOICE)[2].removesuffix(".").split("\n")
    question = asked.rpartition("Question: ")[2]
    refusals = [letter for letter, option in _OPTION.findall(question) if option.startswith("No") and letter in offered]
    return refusals[0] if refusals else drawn.choice(offered)


def _whole_dialog(asked: str, drawn: random.Random) -> str:
    """Return a dialogue of as many turns as SDialog's generator was told to ask for."""
    turns = int(_TURNS.findall(asked)[-1])
    names = sorted(set(re.findall(r'\\"name\\": \\"(\w+)', asked.replace("\\\\", "\\")))) or ["A", "B"]
    return json.dumps({"dialog": [{"speaker": drawn.choice(names), "text": sentence(drawn)} for _ in range(turns)]})
