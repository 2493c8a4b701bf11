"""The agreement of two in their conversation, entered in their days: the model is asked, once.

After a crash the node runs again and stores the same: the answer is in the journal. A model too small to fill in a form
is not asked (`choices=probabilities`).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from langgraph.runtime import Runtime

from tertulia.nodes.shared.asking import ask_model, text_of
from tertulia.nodes.town.diary import entries_of
from tertulia.nodes.town.encounter import encounter_of
from tertulia.prompts.cognition import ask_anybody
from tertulia.prompts.town import AGREED, ask_agreement
from tertulia.state.agreements import Agreement, Entries
from tertulia.state.context import Context
from tertulia.state.graph_state import TownState
from tertulia.state.language_model import ReplyField
from tertulia.state.records import Reply, Turn
from tertulia.state.town import Encounter, TownContext

#: Tokens of the sentence that names the agreement, and of a place.
_TOKENS, _PLACE_TOKENS = 40, 12
#: The latest day on which two may agree to meet, from the day of their conversation.
_DAYS_MAX = 7


async def agree(state: TownState, runtime: Runtime[TownContext]) -> TownState:
    """Store the agreement of the pair behind the last turn of their conversation; nothing with `agreements=false`."""
    town = runtime.context
    encounter = encounter_of(town, state)
    context = town.context_of(encounter.run)
    thinking = context.of(encounter.initiator, "think")
    if not context.parameters.agreements or thinking.parameters.choices == "probabilities":
        return {}
    turns = context.store.turns(context.run)
    reply = await _answer(thinking, encounter, turns)
    found = agreement_of(reply, encounter, turns)
    entries = entries_of([found] if found else [], encounter, town.town, town.diary)
    if entries:
        town.simulations.save_agreed(context.run, len(turns) + 1, Entries(entries=entries))
        town.diary.enter(encounter.run, entries)
    return {}


async def _answer(context: Context, encounter: Encounter, turns: Sequence[Turn]) -> Reply:
    (asking, other), round, language = encounter.pair, len(turns) + 1, context.parameters.language
    fields = (
        ReplyField("agreed", "choice", choices=AGREED),
        ReplyField("by", "choice", choices=encounter.pair),
        ReplyField("what", "text", max_tokens=_TOKENS),
        ReplyField("days", "integer", minimum=0, maximum=_DAYS_MAX),
        ReplyField("hour", "integer", minimum=0, maximum=23),
        ReplyField("minute", "integer", minimum=0, maximum=59),
        ReplyField("place", "text", max_tokens=_PLACE_TOKENS),
    )
    question = ask_agreement(asking, other, turns, encounter.time, language)
    context.broker.seat(round, [asking])
    reply = await ask_model(context, round, asking, "agree", ask_anybody(question, context.layout, language), fields)
    context.broker.leave(asking)
    return reply


def agreement_of(reply: Reply, encounter: Encounter, turns: Sequence[Turn]) -> Agreement | None:
    """Return the agreement that an answer describes; `None` if there is none, or its time has passed."""
    agreed, what = reply.fields["agreed"], text_of(reply, "what")
    proposer = str(reply.fields["by"])
    people = (proposer, next(name for name in encounter.pair if name != proposer))
    lines = (turns[0].turn, turns[-1].turn)
    if agreed == "none" or not what:
        return None
    if agreed == "task":
        return Agreement(kind="task", people=people, doer=proposer, what=what, turns=lines)
    days, hour, minute = (int(reply.fields[field]) for field in ("days", "hour", "minute"))
    midnight = datetime.combine(encounter.time.date(), datetime.min.time())
    time = midnight + timedelta(days=days, hours=hour, minutes=minute)
    if time <= encounter.time:
        return None
    place = text_of(reply, "place") or None
    return Agreement(kind="meet", people=people, what=what, time=time, place=place, turns=lines)
