"""The prompt that distinguishes parting from going on, for models too small to say whether a conversation ended."""

from tertulia.prompts.templates import template
from tertulia.state.language_model import RenderedPrompt, Tokenizer
from tertulia.state.languages import DEFAULT
from tertulia.state.records import Prompt, Unit


def assemble_ending(
    before: str | None, reply: str, tokenizer: Tokenizer, language: str = DEFAULT
) -> tuple[RenderedPrompt, tuple[str, str]]:
    """Return the prompt, with the line before the reply if any, and its two continuations: part, go on talking."""
    prompt = ending_prompt(before, reply, language)
    tokens = tuple(tokenizer.encode(prompt.units[0].text))
    rendered = RenderedPrompt(tokens, {"text": (0, len(tokens))}, {"text": "ending"}, source=prompt)
    return rendered, (continuation(True, language), continuation(False, language))


def ending_prompt(before: str | None, reply: str, language: str = DEFAULT) -> Prompt:
    """Return the units of the prompt: a single one, read as plain text. See `assemble_ending`."""
    texts = template("ending", language)
    line = texts.fill("before_the_first", {}) if before is None else before
    text = texts.fill("text", {"line": line, "reply": reply})
    return Prompt(units=(Unit(id="text", block="ending", kind="text", text=text),), speaker="", layout="plain_text")


def continuation(parts: bool, language: str = DEFAULT) -> str:
    """Return the continuation of the prompt in which they part, or go on talking."""
    return template("ending", language).fill("part" if parts else "go_on", {})
