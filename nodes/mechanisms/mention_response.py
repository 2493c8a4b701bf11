"""Notice being addressed by name. Source: ChatAgents App. A names it as an example of a module that may be added."""

from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.names_in_text import is_named
from tertulia.state.cognition import Finding


async def answer_mention(view: View) -> Finding:
    """Return the people that named the agent and may expect an answer. No model is asked."""
    message = view.message()
    assert message is not None  # the condition held
    asked = view.name in view.address["asked"]
    entry = "findings.asked" if asked else "findings.named"
    line = view.texts.fill(entry, {"other": message.speaker, "name": view.name})
    return Finding(lines=(line,), data={"by": message.speaker, "asked": asked})


def was_mentioned(view: View) -> str | None:
    """Return the reason why the mechanism is on: the agent has just heard another name them."""
    message = view.message()
    if (
        message is None
        or message.speaker in (None, view.name)
        or not is_named(view.name, message.text, view.meeting.names)
    ):
        return None
    return f"{message.speaker} named me"


MECHANISM = Mechanism(
    name="mention_response",
    title="Mention Response",
    description="answer somebody who has just spoken to you by name",
    example=(False, "Nobody spoke to me."),
    run=answer_mention,
    condition=was_mentioned,
)
