"""Keep track of topics: open, discussed, put off. Source: ChatAgents App. A (topic management)."""

from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.asking import text_of
from tertulia.prompts.cognition import Question
from tertulia.prompts.names import enumerated
from tertulia.prompts.translations import stored_form, translated
from tertulia.state.cognition import Finding
from tertulia.state.language_model import ReplyField

_TOPIC_TOKENS = 8
#: The moves that an agent may make with a topic.
_MOVES = ("keep", "shift", "pause")

#: The number of latest topics that are kept in each state.
_KEPT = 6


async def analyse_topics(view: View) -> Finding:
    """Let the agent name the topic and choose a move, and return the states of all topics after it.

    `keep` leaves the topic open, `shift` moves it to discussed, `pause` to paused. At first the open topics are the
    agent's interests.
    """
    last = view.finding("topic_analysis")
    before = last.data if last else {"open": view.agent.interests, "discussed": [], "paused": []}
    states = {state: list(before[state]) for state in ("open", "discussed", "paused")}
    fill, language = view.texts.fill, view.language
    items = [
        fill(f"topics.{state}", {"value": enumerated(topics, language)}) for state, topics in states.items() if topics
    ]
    form = {field: fill(f"answer.{field}", {}) for field in ("topic", "move")}
    fields = [
        ReplyField("topic", "text", max_tokens=_TOPIC_TOKENS),
        ReplyField("move", "choice", choices=tuple(translated(move, language) for move in _MOVES)),
    ]
    question = Question("topics", form, view.example("topics"), items)
    reply = await view.ask("topic_analysis", question, fields)
    topic, move = text_of(reply, "topic").rstrip("。"), stored_form(text_of(reply, "move"), _MOVES, language)
    states = with_move(states, topic, move)
    lines = [fill("findings.topic", {"value": topic.rstrip(".")})]
    if move in _MOVES:
        lines.append(fill(f"findings.{move}", {}))
    if states["open"]:
        lines.append(fill("findings.open", {"value": enumerated(states["open"], language)}))
    return Finding(lines=tuple(lines), data={"topic": topic, "move": move, **states})


def with_move(states: dict[str, list[str]], topic: str, move: str) -> dict[str, list[str]]:
    """Return the states of the topics after a move; a topic has a single state, and the latest comes last."""
    after = {
        state: [other for other in topics if other.casefold() != topic.casefold()] for state, topics in states.items()
    }
    target = {"shift": "discussed", "pause": "paused"}.get(move, "open")
    after[target].append(topic)
    return {state: topics[-_KEPT:] for state, topics in after.items()}


MECHANISM = Mechanism(
    name="topic_analysis",
    title="Topic Analysis",
    description="sort out what has been talked about, what is open, and whether to stay with the topic",
    example=(False, "It is plain what they mean."),
    run=analyse_topics,
)
