"""Review the plan: what is done, what comes next. Source: ChatAgents App. A (planning module)."""

from nodes.mechanisms.mechanism import Mechanism
from nodes.view import View, text_of
from prompts.cognition import Question
from state.cognition import Finding
from state.language_model import ReplyField

_NEXT_TOKENS = 16


async def summarise_goals(view: View) -> Finding:
    """Let the agent mark the steps of its plan that are done; a step that is done stays done."""
    plan, done = view.character.plan, view.done()
    if not plan:
        return Finding(lines=(f"{view.name} has no plan for this meeting.",), data={"done": [], "progress": None})
    open_steps = [index for index, is_done in enumerate(done) if not is_done]
    following = ""
    if open_steps:
        names = {index: f"{index + 1}. {plan[index].text}" for index in open_steps}
        form = {**dict.fromkeys(names.values(), "true or false"), "next": "what you would do next"}
        fields = [
            *(ReplyField(name, "boolean") for name in names.values()),
            ReplyField("next", "text", max_tokens=_NEXT_TOKENS),
        ]
        items = [f"{name} ({plan[index].share:.0%} of all)" for index, name in names.items()]
        example = {"1. Hear what they think": True, "2. Settle on one way": False, "next": "Ask who is for it."}
        reply = await view.ask("goal_summary", Question("progress", form, example, items), fields)
        following = text_of(reply, "next")
        for index, name in names.items():
            done[index] = reply.fields.get(name) is True
    progress = min(1.0, sum(step.share for step, is_done in zip(plan, done, strict=True) if is_done))
    left = [step.text.rstrip(".") for step, is_done in zip(plan, done, strict=True) if not is_done]
    lines = [f"{progress:.0%} of what {view.name} wants is settled."]
    if left:
        lines.append(f"Still to settle: {'; '.join(left)}.")
    return Finding(lines=tuple(lines), data={"done": done, "progress": progress, "next": following})


MECHANISM = Mechanism(
    name="goal_summary",
    title="Goal Summary",
    description="look at your plan: what the conversation has settled and what is still to do",
    example=(False, "Nothing new was settled."),
    run=summarise_goals,
)
