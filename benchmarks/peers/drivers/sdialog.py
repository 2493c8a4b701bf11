"""SDialog: two agents with `dialog_with`; what more than two say, a `DialogGenerator` writes in one call.

A dialogue is written to a file when it is over; there is no way to go on with half a one.
"""

from functools import partial

import sdialog
from sdialog import Context
from sdialog.agents import Agent
from sdialog.generators import DialogGenerator
from sdialog.personas import Persona

from benchmarks.peers.drivers.conversation import Conversation, Person, Stopwatch, given


def hold(conversation: Conversation) -> None:
    """Hold the conversation, and report."""
    sdialog.config.llm(f"openai:{conversation.model}", base_url=conversation.address, api_key="none")
    context = Context(circumstances=conversation.situation)
    watch = Stopwatch()
    if conversation.is_meeting:
        dialog = DialogGenerator(details(conversation), context=context).generate()
    else:
        first, second = (
            Agent(persona=persona(person), name=person.name, preprocessing_fn=partial(noted, watch))
            for person in conversation.people
        )
        dialog = first.dialog_with(second, context=context, max_turns=conversation.turns, keep_bar=False)
    dialog.to_file(str(conversation.path / "dialog.json"))
    watch.report([(turn.speaker, turn.text) for turn in dialog.turns], at_once=conversation.is_meeting)


def noted(watch: Stopwatch, text: str) -> str:
    """Return the text that an agent hears as it is; the watch learns that it was said."""
    watch.spoken()
    return text


def persona(person: Person) -> Persona:
    """Return the person as SDialog has persons."""
    remembered = " ".join(person.memories)
    return Persona(
        name=person.name, background=f"{person.persona} Remembers: {remembered}", circumstances=f"Wants: {person.goal}"
    )


def details(conversation: Conversation) -> str:
    """Return what the generator is told."""
    people = "\n".join(persona(person).prompt() for person in conversation.people)
    opening = f"{conversation.opening[0]} has just said: {conversation.opening[1]}" if conversation.opening else ""
    return f"Write exactly {conversation.turns} turns of a meeting of these people:\n{people}\n{opening}"


if __name__ == "__main__":
    hold(given())
