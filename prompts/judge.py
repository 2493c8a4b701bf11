"""The prompt of the rating judge. Source: APP §4.1."""

from collections.abc import Iterable, Mapping

from tertulia.prompts.templates import template
from tertulia.state.languages import DEFAULT
from tertulia.state.parameters import Wording
from tertulia.state.records import Prompt, Unit

#: The key under which a reply of the judge has its rating.
RATING_KEYS: Mapping[Wording, str] = {"own": "rating", "paper": "score"}


def assemble_judge_prompt(
    speaker: str,
    listener: str,
    statements: Iterable[Unit],
    reply: str,
    language: str = DEFAULT,
    wording: Wording = "own",
) -> Prompt:
    """Return the prompt that asks whether a reply contradicts the statements (the removed items)."""
    texts = template("judge", language, wording)
    names = {"speaker": speaker, "listener": listener}
    lines = [
        texts.fill("statement", {"statement": unit.text.removeprefix("- "), "unit": unit.text}) for unit in statements
    ]
    lead = texts.fill("lead", {})
    units = [
        *([Unit(id="statements.lead", block="statements", kind="text", text=lead)] if lead else []),
        *(Unit(id=f"statements.{i}", block="statements", kind="item", text=line) for i, line in enumerate(lines, 1)),
        Unit(id="question", block="task", kind="text", text=texts.fill("question", {**names, "reply": reply})),
        Unit(id="output", block="output_instruction", kind="text", text=texts.fill("output_instruction", {})),
    ]
    return Prompt(units=tuple(units), speaker=speaker, layout="single_message")
