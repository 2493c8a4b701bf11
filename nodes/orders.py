"""The four speaking orders in which the floor is given from outside. Source: ChatAgents §II-B, Fig. 1 (a) to (d).

Each stands in the place of the race. Nobody follows themselves, nobody who has left is picked, and every one of them
picks somebody in every round.
"""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from nodes.floor import appointed, contenders_of, give_floor, last_speaker
from nodes.retrieve import latest_turns
from nodes.seat import is_persons
from nodes.view import View, ask_model, is_named, text_of
from prompts.cognition import Question, ask_anybody, line_of
from prompts.templates import template
from state.context import Context
from state.graph_state import GroupState, cognition_of
from state.language_model import ReplyField
from state.randomness import keyed_generator
from state.records import Reply, Turn

#: How often a speaker who names nobody that is there is asked, before the next one is drawn.
_ASKED = 2
_REASON_TOKENS = 16
_NAMED_NOBODY = "{} named nobody who is there: drawn"


async def rule_based(state: GroupState, runtime: Runtime[Context]) -> GroupState:
    """Everybody in turn, in the scenario's order."""
    context = runtime.context
    names, last = context.meeting.names, last_speaker(state, context)
    start = names.index(last) + 1 if last is not None else 0
    following = [*names[start:], *names[:start]]
    speaker = next(name for name in following if name in state["present"])
    return _given(state, context, speaker)


async def random_order(state: GroupState, runtime: Runtime[Context]) -> GroupState:
    """Whoever is drawn."""
    return _given(state, runtime.context, _drawn(state, runtime.context))


async def centralised(state: GroupState, runtime: Runtime[Context]) -> GroupState:
    """Whom a moderator picks: the run's model, which hears what everybody hears."""
    context = runtime.context.of("", "think")
    candidates = _candidates(state, context)
    texts = template("cognition")
    people = [
        texts.fill(
            "moderator.person", {"name": name, "value": context.meeting.participant(name).persona.background or "–"}
        )
        for name in candidates
    ]
    turns = latest_turns(context, state["turn"], context.parameters.working_memory)
    question = Question(
        "moderator",
        form={"next": f"one of {', '.join(candidates)}", "reason": "a few words"},
        example={"next": "Kim", "reason": "Kim has not been heard on this."},
        items=[context.meeting.description, *people, *(line_of(turn) for turn in turns)],
    )
    prompt = ask_anybody(question, context.layout)
    fields = (
        ReplyField("next", "choice", choices=tuple(candidates)),
        ReplyField("reason", "text", max_tokens=_REASON_TOKENS),
    )
    for attempt in range(_ASKED):
        reply = await ask_model(context, state["round"], "", "centralised", prompt, fields, attempt)
        picked = _named(reply, candidates)
        if picked is not None:
            return _given(state, context, picked, text_of(reply, "reason"))
    return _given(state, context, _drawn(state, context), "the moderator named nobody who is there: drawn")


async def designated(state: GroupState, runtime: Runtime[Context]) -> GroupState:
    """Whom the last speaker names, a person in what they said; the first one, and who follows who left, is drawn."""
    context, last = runtime.context, last_speaker(state, runtime.context)
    if last is None or last not in state["present"]:
        return _given(state, context, _drawn(state, context), "nobody there to name the next: drawn")
    candidates = _candidates(state, context)
    if is_persons(last, context):
        picked = _named_in(latest_turns(context, state["turn"], context.parameters.working_memory), last, candidates)
        return _given(
            state,
            context,
            picked or _drawn(state, context),
            f"named by {last}" if picked else _NAMED_NOBODY.format(last),
        )
    view = View.of(cognition_of(state, last), context)
    question = Question("designate", form={"next": f"one of {', '.join(candidates)}"}, example={"next": "Kim"})
    fields = (ReplyField("next", "choice", choices=tuple(candidates)),)
    for attempt in range(_ASKED):
        picked = _named(await view.ask("designated", question, fields, attempt), candidates)
        if picked is not None:
            return _given(state, context, picked, f"named by {last}")
    return _given(state, context, _drawn(state, context), _NAMED_NOBODY.format(last))


def _given(state: GroupState, context: Context, speaker: str, reason: str | None = None) -> GroupState:
    outcome = appointed(state, context, contenders_of(state, context), speaker, reason)
    return give_floor(state, context, outcome)


def _candidates(state: GroupState, context: Context) -> list[str]:
    last = last_speaker(state, context)
    return [name for name in state["present"] if name != last]


def _drawn(state: GroupState, context: Context) -> str:
    generator = keyed_generator(context.seed, round=state["round"], node="random_order")
    return generator.choice(_candidates(state, context))


def _named_in(turns: Sequence[Turn], speaker: str, candidates: Sequence[str]) -> str | None:
    """Return the first candidate that a speaker's last line names; `None` if it names nobody of them."""
    said = next((turn.text for turn in reversed(turns) if turn.speaker == speaker), "")
    return next((name for name in candidates if is_named(name, said)), None)


def _named(reply: Reply, candidates: Sequence[str]) -> str | None:
    """Return the candidate that a reply names, case and space aside; `None` if it names nobody of them."""
    named = text_of(reply, "next").casefold()
    return next((name for name in candidates if name.casefold() == named), None)
