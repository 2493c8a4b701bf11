"""Choose the mechanisms to switch on. Source: ChatAgents §III-A, information need analysis; Fig. 6."""

from collections.abc import Callable, Sequence

from langgraph.runtime import Runtime

from tertulia.nodes.machinery.guard import failure
from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.mechanisms.registry import MECHANISMS, description_of, mechanism_of
from tertulia.nodes.meeting.choices import choose_switches, reads_probabilities
from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.asking import text_of
from tertulia.prompts.cognition import Question
from tertulia.prompts.examples import draw_switch
from tertulia.prompts.names import clauses
from tertulia.state.cognition import InformationNeed, MechanismChoice
from tertulia.state.context import Context
from tertulia.state.errors import ModelError, NodeError, StorageError
from tertulia.state.graph_state import CognitionState
from tertulia.state.language_model import ReplyField

#: The agent's words before it chooses. Source: ChatAgents Fig. 6.
_THOUGHTS = ("key_information", "character_analysis", "decision_reason")


async def choose_mechanisms(state: CognitionState, runtime: Runtime[Context]) -> CognitionState:
    """Ask the agent which mechanisms it needs; a mechanism with a condition is not asked about."""
    view = View.of(state, runtime.context)
    need = await information_need(view)
    view.context.store.save_step(view.context.run, view.round, view.name, "choose_mechanisms", need)
    return {"active": [name for name, choice in need.mechanisms.items() if choice.active]}


async def information_need(view: View) -> InformationNeed:
    """Return the agent's choice about every mechanism of the meeting, with reasons."""
    mechanisms = [mechanism_of(view.context, name) for name in view.meeting.mechanisms]
    asked = [mechanism for mechanism in mechanisms if mechanism.condition is None]
    thoughts: dict[str, str] = {}
    choices: dict[str, MechanismChoice] = {}
    if asked:
        thoughts, choices = await (_weighed(view, asked) if reads_probabilities(view) else _asked(view, asked))
    for mechanism in mechanisms:
        if mechanism.condition is not None:
            reason = _occasion(mechanism.name, mechanism.condition, view)
            choices[mechanism.name] = MechanismChoice(active=reason is not None, reason=reason or "no occasion")
    last = view.last_assessment()
    return InformationNeed(
        situation_summary=last.situation if last else "",
        **{"key_information": "", **thoughts},
        mechanisms={name: choices[name] for name in view.meeting.mechanisms},
    )


_Chosen = tuple[dict[str, str], dict[str, MechanismChoice]]


async def _asked(view: View, asked: Sequence[Mechanism]) -> _Chosen:
    """Return the words of the agent's model before it chooses, and its choices, each with a reason."""
    fill = view.texts.fill
    form = _form(view)
    example: dict[str, object] = dict(view.example("mechanisms"))
    generator = view.generator("example_switches")
    fields = _thoughts(view)
    for mechanism in asked:
        drawn = None
        if mechanism is MECHANISMS.get(mechanism.name):
            drawn = draw_switch(mechanism.name, generator, view.language)
        active, why = drawn or mechanism.example
        reason = f"{mechanism.name}_reason"
        form |= {mechanism.name: fill("answer.either", {}), reason: fill("answer.few_words", {})}
        example |= {mechanism.name: active, reason: why}
        fields.append(ReplyField(mechanism.name, "boolean"))
        fields.append(ReplyField(reason, "text", max_tokens=view.context.parameters.reason_tokens))
    question = Question("mechanisms", form, example, _ways_to_think(view, asked))
    reply = await view.ask("choose_mechanisms", question, fields)
    return {name: text_of(reply, name) for name in _THOUGHTS}, {
        mechanism.name: MechanismChoice(
            active=reply.fields.get(mechanism.name) is True, reason=text_of(reply, f"{mechanism.name}_reason")
        )
        for mechanism in asked
    }


async def _weighed(view: View, asked: Sequence[Mechanism]) -> _Chosen:
    """Return the choices by probabilities, and the words of the agent's model on them."""
    weighed = await choose_switches(view, [description_of(mechanism, view.language) for mechanism in asked])
    choices = {mechanism.name: choice for mechanism, choice in zip(asked, weighed, strict=True)}
    chosen = [description_of(mechanism, view.language) for mechanism in asked if choices[mechanism.name].active]
    entry = "mechanisms.chosen" if chosen else "mechanisms.none_chosen"
    items = [*_ways_to_think(view, asked), view.texts.fill(entry, {"value": clauses(chosen, view.language)})]
    question = Question("chosen", _form(view), view.example("mechanisms"), items)
    reply = await view.ask("choose_mechanisms", question, _thoughts(view))
    return {name: text_of(reply, name) for name in _THOUGHTS}, choices


def _form(view: View) -> dict[str, object]:
    return {name: view.texts.fill(f"answer.{name}", {}) for name in _THOUGHTS}


def _thoughts(view: View) -> list[ReplyField]:
    return [ReplyField(name, "text", max_tokens=view.context.parameters.reason_tokens) for name in _THOUGHTS]


def _ways_to_think(view: View, asked: Sequence[Mechanism]) -> list[str]:
    round = view.texts.fill("mechanisms.round", {"round": view.round})
    return [round, *(usage_line(view, mechanism) for mechanism in asked)]


def _occasion(name: str, condition: Callable[[View], str | None], view: View) -> str | None:
    """Return why a mechanism with a condition is on; `None` if it is off."""
    try:
        reason = condition(view)
    except (ModelError, StorageError):
        raise
    except Exception as error:
        raise NodeError(
            f"round {view.round}: the condition of the mechanism {name!r} {failure(error, condition)}"
        ) from error
    if reason is not None and not isinstance(reason, str):
        returned = f"returned {reason!r:.60}; it returns a reason, or None where the mechanism is off"
        raise NodeError(f"round {view.round}: the condition of the mechanism {name!r} {returned}")
    return reason


def usage_line(view: View, mechanism: Mechanism) -> str:
    """Return the line of the prompt with the purpose of a mechanism and how often it was used."""
    last_used, count = view.mind["used"].get(mechanism.name, (0, 0))
    entry, description = "mechanisms.item" if count else "mechanisms.never", description_of(mechanism, view.language)
    values = {"mechanism": mechanism.name, "description": description, "count": count, "last_used": last_used}
    return view.texts.fill(entry, values)
