"""Assess the situation from the findings of the mechanisms. Source: ChatAgents §III-A, contextual assessment."""

from langgraph.runtime import Runtime

from tertulia.nodes.meeting.choices import choose_feeling, reads_probabilities
from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.asking import text_of
from tertulia.prompts.cognition import Question
from tertulia.prompts.translations import stored_form, translated, translated_list
from tertulia.state.cognition import Assessment, Finding
from tertulia.state.context import Context
from tertulia.state.graph_state import CognitionState
from tertulia.state.language_model import ReplyField
from tertulia.state.meeting import EMOTIONS


async def assess(state: CognitionState, runtime: Runtime[Context]) -> CognitionState:
    """Ask the agent for the situation, its emotion and its private thought."""
    view = View.of(state, runtime.context)
    assessment = await assess_situation(view, state["active"])
    view.context.store.save_step(view.context.run, view.round, view.name, "assess", assessment)
    mind = view.mind.copy()
    mind["emotion"], mind["emotion_strength"] = assessment.emotion, assessment.emotion_strength
    return {"mind": mind}


async def assess_situation(view: View, active: list[str]) -> Assessment:
    """Return the agent's assessment of the situation and of these mechanisms' findings."""
    store, run = view.context.store, view.context.run
    findings = [store.step(run, view.round, view.name, name, Finding) for name in active]
    fill, language = view.texts.fill, view.language
    items = [fill("assess.item", {"value": line}) for finding in findings if finding for line in finding.lines]
    limit = view.context.parameters.thought_tokens
    feelings = tuple(translated(emotion, language) for emotion in EMOTIONS)
    minimum, maximum = 0, 10
    if reads_probabilities(view):
        feeling, minimum = await choose_feeling(view)
        feelings, maximum = (translated(feeling, language),), minimum
    fields = (
        ReplyField("situation", "text", max_tokens=limit),
        ReplyField("feeling", "choice", choices=feelings),
        ReplyField("strength", "integer", minimum=minimum, maximum=maximum),
        ReplyField("thought", "text", max_tokens=limit),
    )
    form = {
        "situation": fill("answer.situation", {}),
        "feeling": fill("answer.one_of", {"value": translated_list(EMOTIONS, language)}),
        "strength": fill("answer.scale", {"number": 10}),
        "thought": fill("answer.thought", {}),
    }
    last = view.last_assessment()
    before = (last.situation, last.thought) if last else ()
    question = Question("assess", form, view.example("assess"), items)
    reply = await view.ask("assess", question, fields, no_repeat_from=before)
    return Assessment(
        situation=text_of(reply, "situation"),
        thought=text_of(reply, "thought"),
        emotion=stored_form(text_of(reply, "feeling"), EMOTIONS, language),
        emotion_strength=float(reply.fields.get("strength", 0)) / 10,
        done=tuple(view.done()),
    )
