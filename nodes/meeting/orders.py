"""The four speaking orders in which the floor is given from outside. Source: ChatAgents §II-B, Fig. 1 (a) to (d).

Each takes the place of the race, and gives the floor never to the last speaker, nor to a person that has left. A round
is silent only if all others leave before their first word.
"""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from tertulia.nodes.conversation.seat import is_persons
from tertulia.nodes.meeting.contenders import appointed, contenders_of, give_floor, last_speaker
from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.asking import ask_model, text_of
from tertulia.nodes.shared.hearing import latest_turns
from tertulia.nodes.shared.names_in_text import is_named
from tertulia.prompts.cognition import Question, ask_anybody, line_of
from tertulia.prompts.examples import draw_example
from tertulia.prompts.names import enumerated
from tertulia.prompts.person import OUTWARD, lines_of
from tertulia.prompts.templates import template
from tertulia.state.context import Context
from tertulia.state.graph_state import GroupState, cognition_of
from tertulia.state.language_model import ReplyField
from tertulia.state.meeting import Attendee
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Reply, Turn

#: How often a model is asked for the next speaker, before one is drawn because it named nobody present.
_ATTEMPTS = 2
_REASON_TOKENS = 16
_NAMED_NOBODY = "{} named nobody who is there"


async def rule_based(state: GroupState, runtime: Runtime[Context]) -> GroupState:
    """Give the floor to everybody in turn, in the scenario's order."""
    context = runtime.context
    names, last = context.meeting.names, last_speaker(state, context)
    start = names.index(last) + 1 if last in names else 0
    candidates = _candidates(state, context)
    return _give_floor_to(state, context, [name for name in (*names[start:], *names[:start]) if name in candidates])


async def random_order(state: GroupState, runtime: Runtime[Context]) -> GroupState:
    """Give the floor to a uniformly sampled agent."""
    return _give_floor_to(state, runtime.context, _drawn_order(state, runtime.context))


async def centralised(state: GroupState, runtime: Runtime[Context]) -> GroupState:
    """Give the floor to the choice of a moderator: the run's model, which sees everybody's perceptions."""
    context = runtime.context.of("", "think")
    candidates, language = _candidates(state, context), context.parameters.language
    fill = template("cognition", language).fill
    known = {name: _outwardly(context.meeting.participant(name), language) for name in candidates}
    people = [fill("moderator.person", {"name": name, "value": about or "–"}) for name, about in known.items()]
    turns = latest_turns(context, state["turn"], context.parameters.working_memory)
    generator = keyed_generator(context.seed, round=state["round"], node="example_moderator")
    question = Question(
        "moderator",
        form={"next": _one_of(candidates, language), "reason": fill("answer.few_words", {})},
        example=draw_example("moderator", generator, language),
        items=[context.meeting.description, *people, *(line_of(turn, language) for turn in turns)],
    )
    prompt = ask_anybody(question, context.layout, language)
    fields = (
        ReplyField("next", "choice", choices=tuple(candidates)),
        ReplyField("reason", "text", max_tokens=max(_REASON_TOKENS, context.parameters.reason_tokens)),
    )
    for attempt in range(_ATTEMPTS):
        reply = await ask_model(context, state["round"], "", "centralised", prompt, fields, attempt)
        picked = _named(reply, candidates)
        if picked is not None:
            return _give_floor_to(state, context, _drawn_order(state, context, picked), text_of(reply, "reason"))
    return _give_floor_to(
        state, context, _drawn_order(state, context), _NAMED_NOBODY.format("the moderator"), drawn=True
    )


async def designated(state: GroupState, runtime: Runtime[Context]) -> GroupState:
    """Give the floor to whom the last speaker names: an agent when asked, a person in their last line.

    If nobody has spoken yet, or the last speaker has left, the next speaker is drawn.
    """
    context, last = runtime.context, last_speaker(state, runtime.context)
    if last is None or last not in state["present"]:
        why = "nobody was there to name the next"
        return _give_floor_to(state, context, _drawn_order(state, context), why, drawn=True)
    candidates = _candidates(state, context)
    if is_persons(last, context, state["round"]):
        turns = latest_turns(context, state["turn"], context.parameters.working_memory)
        picked = _named_in(turns, last, candidates, context.meeting.names)
        reason = f"named by {last}" if picked else _NAMED_NOBODY.format(last)
        return _give_floor_to(state, context, _drawn_order(state, context, picked), reason, drawn=picked is None)
    view = View.of(cognition_of(state, last), context)
    form = {"next": _one_of(candidates, view.language)}
    question = Question("designate", form, example=view.example("designate"))
    fields = (ReplyField("next", "choice", choices=tuple(candidates)),)
    for attempt in range(_ATTEMPTS):
        picked = _named(await view.ask("designated", question, fields, attempt), candidates)
        if picked is not None:
            return _give_floor_to(state, context, _drawn_order(state, context, picked), f"named by {last}")
    return _give_floor_to(state, context, _drawn_order(state, context), _NAMED_NOBODY.format(last), drawn=True)


def _give_floor_to(
    state: GroupState, context: Context, speakers: Sequence[str], reason: str | None = None, *, drawn: bool = False
) -> GroupState:
    first, *others = speakers
    outcome = appointed(state, context, contenders_of(state, context), first, reason, others, drawn=drawn)
    return give_floor(state, context, outcome)


def _outwardly(attendee: Attendee, language: str) -> str:
    """Return what anybody may know of a participant."""
    facts = [entry for entry in OUTWARD if entry != "background"]
    return " ".join([*attendee.persona.background, *lines_of(attendee, facts, language)])


def _one_of(names: Sequence[str], language: str) -> str:
    return template("cognition", language).fill("answer.one_of", {"value": enumerated(names, language)})


def _candidates(state: GroupState, context: Context) -> list[str]:
    last = last_speaker(state, context)
    return [name for name in state["present"] if name != last]


def _drawn_order(state: GroupState, context: Context, first: str | None = None) -> list[str]:
    """Return the candidates in a drawn order, after the chosen one, if any."""
    generator = keyed_generator(context.seed, round=state["round"], node="random_order")
    candidates = _candidates(state, context)
    first = generator.choice(candidates) if first is None else first
    others = [name for name in candidates if name != first]
    return [first, *generator.sample(others, len(others))]


def _named_in(turns: Sequence[Turn], speaker: str, candidates: Sequence[str], people: tuple[str, ...]) -> str | None:
    last_line = next((turn.text for turn in reversed(turns) if turn.speaker == speaker), "")
    return next((name for name in candidates if is_named(name, last_line, people)), None)


def _named(reply: Reply, candidates: Sequence[str]) -> str | None:
    named = text_of(reply, "next").casefold()
    return next((name for name in candidates if name.casefold() == named), None)
