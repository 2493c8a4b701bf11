"""Prompts that revise an utterance by the judge's comment, and that ask whether this can be done. Source: APP §4.1."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tertulia.prompts.templates import template
from tertulia.state.languages import DEFAULT
from tertulia.state.parameters import Wording
from tertulia.state.records import Prompt, Unit


@dataclass(frozen=True)
class Conflict:
    """An utterance that contradicts the removed units of its prompt.

    Attributes:
        listener: The listeners' names, as in a sentence.
        statements: The removed items.
        last_line: The line before it; `None` if it opens the conversation.
        layout: Of the prompt for the utterance; the rewriting has its form of a reply.
    """

    speaker: str
    listener: str
    statements: Sequence[Unit]
    last_line: str | None
    reply: str
    comment: str | None
    layout: str = "single_message"
    language: str = DEFAULT
    wording: Wording = "own"


def assemble_rewriting(conflict: Conflict) -> Prompt:
    """Return the prompt that asks for a revised utterance."""
    name = "chat_turns" if conflict.layout == "chat_turns" else "utterance"
    source = template(name, conflict.language, conflict.wording)
    utterance = source.fill("reply.utterance", {"speaker": conflict.speaker})
    value = json.dumps({conflict.speaker: utterance}, ensure_ascii=False)
    return _prompt(conflict, "rewrite", value)


def assemble_choice(conflict: Conflict) -> Prompt:
    """Return the prompt that asks whether the removed items suffice to know the right revision (APP Limitations)."""
    return _prompt(conflict, "choose")


def _prompt(conflict: Conflict, question: str, value: str = "") -> Prompt:
    return Prompt(units=tuple(_units(conflict, question, value)), speaker=conflict.speaker, layout="single_message")


def _units(conflict: Conflict, question: str, value: str) -> Iterator[Unit]:
    texts = template("revise", conflict.language)
    names = {"speaker": conflict.speaker, "listener": conflict.listener}

    def text(id: str, block: str, entry: str, **variables: str) -> Unit:
        return Unit(id=id, block=block, kind="text", text=texts.fill(entry, names | variables))

    yield text("statements.lead", "statements", "lead")
    for number, unit in enumerate(conflict.statements, 1):
        line = texts.fill("statement", {"statement": unit.text.removeprefix("- ")})
        yield Unit(id=f"statements.{number}", block="statements", kind="item", text=line)
    if conflict.last_line is not None:
        yield text("heard", "current_dialogue", "heard", heard=conflict.last_line)
    yield text("about", "task", "about", reply=conflict.reply)
    if conflict.comment is not None:
        yield text("comment", "task", "comment", comment=conflict.comment)
    yield text("question", "task", f"{question}.task")
    yield text("output", "output_instruction", f"{question}.output_instruction", value=value)
