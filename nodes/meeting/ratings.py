"""Let a model rate the parts of its agent's willingness, each with a reason: the parameter `willingness=rated`.

The paper computes the topic and derives the other parts (ChatAgents App. B); a capable model can weigh all four itself.
"""

from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.asking import text_of
from tertulia.prompts.cognition import Question
from tertulia.state.cognition import HIGHEST_RATING, Assessment, Rating, WillingnessRatings
from tertulia.state.graph_state import Mind, Parts
from tertulia.state.language_model import ReplyField

#: The parts in the order of Eq. 1.
_PARTS = ("topic", "goal", "emotion", "personality")


async def rate_parts(view: View, address: float) -> tuple[Parts, Mind]:
    """Ask the agent's model for the parts of willingness, and store its ratings.

    Nothing else moves the parts: the model is told that its agent was asked, and how long it has been quiet.

    Args:
        address: How much the last line speaks to them, in [0, 1].

    Returns:
        The parts, and the agent's mind with notes of the ratings.
    """
    context, fill = view.context, view.texts.fill
    assessment = context.store.step(context.run, view.round, view.name, "assess", Assessment)
    items = [] if assessment is None else [assessment.situation, assessment.thought]
    items += [fill("willingness.asked", {})] if address == 1 else []
    quiet = view.mind["quiet"]
    items += [fill("willingness.quiet", {"number": quiet})] if quiet else []
    form: dict[str, object] = {}
    fields = []
    for part in _PARTS:
        form[part] = fill("answer.scale", {"number": HIGHEST_RATING})
        form[f"{part}_reason"] = fill("answer.few_words", {})
        fields.append(ReplyField(part, "integer", maximum=HIGHEST_RATING, is_bounded=False))
        fields.append(ReplyField(f"{part}_reason", "text", max_tokens=context.parameters.reason_tokens))
    question = Question("willingness", form, view.example("willingness"), [item for item in items if item])
    reply = await view.ask("decide", question, fields)
    topic, goal, emotion, personality = (
        Rating(rating=int(reply.fields.get(part, 0)), reason=text_of(reply, f"{part}_reason")) for part in _PARTS
    )
    ratings = WillingnessRatings(topic=topic, goal=goal, emotion=emotion, personality=personality)
    context.store.save_step(context.run, view.round, view.name, "decide", ratings)
    parts = Parts(topic=_share(topic), goal=_share(goal), emotion=_share(emotion), personality=_share(personality))
    before = context.store.step(context.run, view.round - 1, view.name, "decide", WillingnessRatings)
    is_same = before is not None and before.values == ratings.values
    return parts, {
        **view.mind,
        "off_scale": view.mind.get("off_scale", 0) + ratings.is_off_scale,
        "same_ratings": view.mind.get("same_ratings", 0) + 1 if is_same else 1,
    }


def _share(rating: Rating) -> float:
    """Return a rating as a part in [0, 1]; a rating off the scale counts as its nearer end."""
    return min(1.0, max(0.0, rating.rating / HIGHEST_RATING))
