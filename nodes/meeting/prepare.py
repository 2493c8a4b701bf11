"""Prepare a participant before the meeting: traits, descriptions, a plan. Source: ChatAgents §IV-B, App. A and D."""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from tertulia.nodes.meeting.personality import poles_of
from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.asking import text_of
from tertulia.prompts.cognition import Question
from tertulia.prompts.names import qualities
from tertulia.prompts.person import FOR_PLANS, OF_CHARACTER, lines_of
from tertulia.prompts.templates import template
from tertulia.prompts.translations import translated
from tertulia.state.cognition import Character, SubGoal
from tertulia.state.context import Context
from tertulia.state.graph_state import CognitionState
from tertulia.state.language_model import ReplyField
from tertulia.state.languages import DEFAULT
from tertulia.state.records import Participant

#: Descriptions of a personality, and steps of a plan, that a model is asked for.
_DESCRIPTIONS = 10
_STEPS = 3
#: Facts by which the model describes how a person thinks and talks, beside the poles.
_DESCRIBED_BY = tuple(entry for entry in OF_CHARACTER if entry != "big_five")
#: The number of tokens of each, at least.
_DESCRIPTION_TOKENS = 36
_STEP_TOKENS = 16


async def prepare(state: CognitionState, runtime: Runtime[Context]) -> CognitionState:
    """Settle the poles of personality, and let the model write missing descriptions and plans."""
    view = View.of(state, runtime.context)
    view.context.broker.seat(0, view.present)
    attendee = view.agent
    big_five = await poles_of(view)
    descriptions = attendee.descriptions or await describe(view, big_five)
    plan = await make_plan(view)
    view.context.broker.leave(view.name)
    character = Character(big_five=big_five, descriptions=descriptions, plan=plan)
    view.context.store.save_step(view.context.run, 0, view.name, "prepare", character)
    return {"minds": {view.name: view.mind}}


async def describe(view: View, big_five: Sequence[str]) -> tuple[str, ...]:
    """Return ten sentences in which the model describes a person of these words and poles. Source: App. D, Fig. 7."""
    question = description_question(view.agent, big_five, view.example("personality"), view.language)
    limit = max(_DESCRIPTION_TOKENS, view.context.parameters.thought_tokens)
    fields = [ReplyField(name, "text", max_tokens=limit) for name in question.form]
    reply = await view.ask("personality", question, fields, as_self=False)
    return tuple(text for text in (text_of(reply, name) for name in question.form) if text)


def description_question(
    agent: Participant, big_five: Sequence[str], example: Sequence[str], language: str = DEFAULT
) -> Question:
    """Return the question for the descriptions of a person; the example has as many as are asked for."""
    fill, poles = template("cognition", language).fill, [translated(pole, language) for pole in big_five]
    about = [fill("personality.about", {"value": qualities(poles, language)})] if poles else []
    names = [f"description_{number}" for number in range(1, _DESCRIPTIONS + 1)]
    return Question(
        "personality",
        form=dict.fromkeys(names, fill("answer.sentence", {})),
        example=dict(zip(names, example, strict=True)),
        items=[*about, *lines_of(agent, _DESCRIBED_BY, language, big_five=())],
    )


async def make_plan(view: View) -> tuple[SubGoal, ...]:
    """Return the steps of all goals, with equal shares; the model writes those that the scenario does not give."""
    steps: list[tuple[int, str]] = []
    for index, goal in enumerate(view.agent.goals):
        texts = goal.sub_goals or await _steps(view, goal.text, index)
        steps += [(index, text) for text in texts]
    return tuple(SubGoal(goal=index, text=text, share=1 / len(steps)) for index, text in steps)


async def _steps(view: View, goal: str, index: int) -> tuple[str, ...]:
    question = plan_question(view.agent, goal, view.example("plan"), view.language)
    limit = max(_STEP_TOKENS, view.context.parameters.reason_tokens)
    fields = [ReplyField(name, "text", max_tokens=limit) for name in question.form]
    reply = await view.ask("plan", question, fields, attempt=index, as_self=False)
    return tuple(text for text in (text_of(reply, name) for name in question.form) if text) or (goal,)


def plan_question(agent: Participant, goal: str, example: Sequence[str], language: str = DEFAULT) -> Question:
    """Return the question for the steps of a goal; the example has as many as are asked for."""
    fill, names = template("cognition", language).fill, [f"step_{number}" for number in range(1, _STEPS + 1)]
    about = fill("plan.about", {"name": agent.persona.name, "goal": goal})
    return Question(
        "plan",
        form=dict.fromkeys(names, fill("answer.few_words", {})),
        example=dict(zip(names, example, strict=True)),
        items=[*lines_of(agent, FOR_PLANS, language), about],
        variables={"number": _STEPS},
    )
