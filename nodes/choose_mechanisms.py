"""Choose the mechanisms to switch on. Source: ChatAgents §III-A, information need analysis; Fig. 6."""

from collections.abc import Callable

from langgraph.runtime import Runtime

from nodes.machinery.guard import failure
from nodes.mechanisms.registry import mechanism_of
from nodes.view import View, text_of
from prompts.cognition import Question
from prompts.templates import template
from state.cognition import InformationNeed, MechanismChoice
from state.context import Context
from state.errors import ModelError, NodeError, StorageError
from state.graph_state import CognitionState, Mind
from state.language_model import ReplyField


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
    choices = {}
    key_information = ""
    if asked:
        limit = view.context.parameters.max_reason_tokens
        fields = [ReplyField("key_information", "text", max_tokens=limit)]
        form: dict[str, object] = {"key_information": "what matters most right now"}
        example: dict[str, object] = {"key_information": "They want to hear a decision."}
        for mechanism in asked:
            fields += [
                ReplyField(mechanism.name, "boolean"),
                ReplyField(f"{mechanism.name}_reason", "text", max_tokens=limit),
            ]
            form |= {mechanism.name: "true or false", f"{mechanism.name}_reason": "a few words"}
            example |= {mechanism.name: mechanism.example[0], f"{mechanism.name}_reason": mechanism.example[1]}
        items = [template("cognition").fill("mechanisms.round", {"round": view.round})]
        items += [usage_line(view.mind, mechanism.name, mechanism.description) for mechanism in asked]
        question = Question("mechanisms", form, example, items)
        reply = await view.ask("choose_mechanisms", question, fields)
        key_information = text_of(reply, "key_information")
        for mechanism in asked:
            choices[mechanism.name] = MechanismChoice(
                active=reply.fields.get(mechanism.name) is True, reason=text_of(reply, f"{mechanism.name}_reason")
            )
    for mechanism in mechanisms:
        if mechanism.condition is not None:
            reason = _occasion(mechanism.name, mechanism.condition, view)
            choices[mechanism.name] = MechanismChoice(active=reason is not None, reason=reason or "no occasion")
    return InformationNeed(
        key_information=key_information, mechanisms={name: choices[name] for name in view.meeting.mechanisms}
    )


def _occasion(name: str, condition: Callable[[View], str | None], view: View) -> str | None:
    """Return why a mechanism with a condition is on; `None` where it is off.

    Raises:
        NodeError: The condition failed, or returned something else than a reason.
    """
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


def usage_line(mind: Mind, mechanism: str, description: str) -> str:
    """Return the line of the prompt that says what a mechanism is for and how often it was used."""
    last_used, count = mind["used"].get(mechanism, (0, 0))
    entry = "mechanisms.item" if count else "mechanisms.never"
    values = {"mechanism": mechanism, "description": description, "count": count, "last_used": last_used}
    return template("cognition").fill(entry, values)
