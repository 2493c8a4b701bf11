"""Review the plan: the steps done, and the next. Source: ChatAgents App. A (planning module)."""

from collections.abc import Sequence

from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.nodes.meeting.choices import as_choice, choose_done, reads_probabilities
from tertulia.nodes.meeting.view import View
from tertulia.nodes.shared.asking import text_of
from tertulia.prompts.cognition import Question
from tertulia.prompts.names import clauses
from tertulia.state.cognition import Finding
from tertulia.state.language_model import ReplyField

#: The number of tokens of the next step, at least.
_NEXT_TOKENS = 16


async def summarise_goals(view: View) -> Finding:
    """Let the agent say which steps of its plan are done, each time all of them: a done step may be open again."""
    plan, fill = view.character.plan, view.texts.fill
    if not plan:
        return Finding(lines=(fill("findings.no_plan", {"name": view.name}),), data={"done": [], "progress": None})
    names = [f"{number}. {step.text}" for number, step in enumerate(plan, start=1)]
    form = {**dict.fromkeys(names, fill("answer.either", {})), "next": fill("answer.next", {})}
    decided: Sequence[bool | None] = [None] * len(plan)
    if reads_probabilities(view):
        decided = [await choose_done(view, index, step.text) for index, step in enumerate(plan)]
    fields = [
        *(ReplyField(name, "boolean", choices=as_choice(done)) for name, done in zip(names, decided, strict=True)),
        ReplyField("next", "text", max_tokens=max(_NEXT_TOKENS, view.context.parameters.reason_tokens)),
    ]
    items = [
        fill("progress.step", {"step": name, "share": f"{step.share:.0%}"})
        for name, step in zip(names, plan, strict=True)
    ]
    reply = await view.ask("goal_summary", Question("progress", form, view.example("progress"), items), fields)
    following, done = text_of(reply, "next"), [reply.fields.get(name) is True for name in names]
    progress = min(1.0, sum(step.share for step, is_done in zip(plan, done, strict=True) if is_done))
    left = [step.text.rstrip(".。") for step, is_done in zip(plan, done, strict=True) if not is_done]
    lines = [fill("findings.progress", {"share": f"{progress:.0%}", "name": view.name})]
    if left:
        lines.append(fill("findings.left", {"value": clauses(left, view.language)}))
    if following:
        lines.append(fill("findings.next", {"value": following.rstrip(".。")}))
    return Finding(lines=tuple(lines), data={"done": done, "progress": progress, "next": following})


MECHANISM = Mechanism(
    name="goal_summary",
    title="Goal Summary",
    description="look at your plan: what the conversation has settled and what is still to do",
    example=(False, "Nothing new was settled."),
    run=summarise_goals,
)
