"""Keep track of topics: open, discussed, put off. Source: ChatAgents App. A (topic management)."""

from nodes.mechanisms.mechanism import Mechanism
from nodes.view import View, text_of
from prompts.cognition import Question
from prompts.templates import template
from state.cognition import Finding
from state.language_model import ReplyField

_TOPIC_TOKENS = 8
#: What an agent may do with a topic, and how that reads.
_MOVES = {
    "keep": "It is worth staying with it.",
    "shift": "It is time for something else.",
    "pause": "It can wait.",
}

#: Topics that an agent keeps in each state, the latest.
_KEPT = 6


async def analyse_topics(view: View) -> Finding:
    """Let the agent name the topic and say what to do with it; the states of the topics follow from that.

    `keep` leaves the topic open, `shift` files it under discussed, `pause` puts it off. At first the open topics are
    the role's own interests.
    """
    last = view.finding("topic_analysis")
    states = (
        {state: list(last.data[state]) for state in ("open", "discussed", "paused")}
        if last
        else {
            "open": list(view.agent.interests),
            "discussed": [],
            "paused": [],
        }
    )
    texts = template("cognition")
    items = [texts.fill(f"topics.{state}", {"value": ", ".join(topics)}) for state, topics in states.items() if topics]
    form = {"topic": "two or three words", "move": "keep, shift or pause"}
    fields = [
        ReplyField("topic", "text", max_tokens=_TOPIC_TOKENS),
        ReplyField("move", "choice", choices=tuple(_MOVES)),
    ]
    question = Question("topics", form, {"topic": "who does what", "move": "shift"}, items)
    reply = await view.ask("topic_analysis", question, fields)
    topic, move = text_of(reply, "topic"), text_of(reply, "move")
    states = moved(states, topic, move)
    lines = [f"The talk is about {topic.rstrip('.')}.", _MOVES.get(move, "")]
    if states["open"]:
        lines.append(f"Still open: {', '.join(states['open'])}.")
    return Finding(lines=tuple(line for line in lines if line), data={"topic": topic, "move": move, **states})


def moved(states: dict[str, list[str]], topic: str, move: str) -> dict[str, list[str]]:
    """Return the states of the topics after a move; a topic stands in one state only, the latest last."""
    others = {state: [t for t in topics if t.casefold() != topic.casefold()] for state, topics in states.items()}
    target = {"shift": "discussed", "pause": "paused"}.get(move, "open")
    others[target].append(topic)
    return {state: topics[-_KEPT:] for state, topics in others.items()}


MECHANISM = Mechanism(
    name="topic_analysis",
    title="Topic Analysis",
    description="sort out what has been talked about, what is open, and whether to stay with the topic",
    example=(False, "It is plain what they mean."),
    run=analyse_topics,
)
