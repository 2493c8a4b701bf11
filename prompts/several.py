"""Several replies asked for in one call, or one behind a random string: the request, and the reading of the answer.

Three ways have templates of their names: `sequential` (APP §5), `verbalized` (Zhang et al. 2025, arXiv 2510.01171) and
`string_seed` (Misaki and Akiba 2025, arXiv 2510.21150). All ask for one JSON object. A model on a server may write the
replies as a list instead, and any model a probability as it likes: `prompts/written_lists.py` reads these.
"""

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tertulia.prompts.placeholders import is_placeholder
from tertulia.prompts.templates import template
from tertulia.prompts.written_lists import Item, read_item, read_list, read_number, without_string
from tertulia.state.languages import DEFAULT
from tertulia.state.parameters import GenerationWay, Wording
from tertulia.state.records import Prompt, Unit
from tertulia.state.text import folded, one_line

#: The key of the random string among the fields of a reply that was read.
STRING_SEED = "string_seed"


@dataclass(frozen=True)
class WrittenReply:
    """One of the replies of an answer.

    Attributes:
        ended: Whether it ends the conversation, as in the answer; `None` if the answer does not say.
        probability: The model's statement, in [0, 1]; `None` if that can't be read.
    """

    text: str
    ended: object = None
    probability: float | None = None


# --- asking ---------------------------------------------------------------------------------------------------------


def asking_for_candidates(
    prompt: Prompt,
    number: int,
    asks_ending: bool,
    language: str = DEFAULT,
    wording: Wording = "own",
    way: GenerationWay = "sequential",
    below: float = 1.0,
) -> Prompt:
    """Return the prompt that asks for several utterances in one reply, or for one behind a random string.

    In the project's words each of a sequence (APP §5) shall be about something else than those before; in the paper's
    nothing is said of that.

    Args:
        below: The probability that replies of verbalised sampling shall not reach; 1: any.
    """
    texts = template(way, language, wording)
    shape: dict[str, str] = {}
    values = {"utterance": texts.fill("utterance", {"speaker": prompt.speaker}), "ends": texts.fill("either", {})}
    if "beside" in texts:
        values["beside"] = texts.fill("beside_value", {})
    for keys in _keys(number, prompt.speaker, language, wording, way):
        shape |= {key: values[part] for part, key in keys.items() if part != "ends" or asks_ending}
    known: dict[str, object] = {"count": number, "value": json.dumps(shape, ensure_ascii=False), "below": f"{below:g}"}
    known["speaker"] = prompt.speaker
    if (entry := f"in_words.{number}") in texts:
        known["count_in_words"] = texts.fill(entry, {})

    def asking(unit: Unit) -> Unit:
        if unit.block not in ("task", "output_instruction"):
            return unit
        entry = "tail" if unit.block == "task" and way == "verbalized" and below < 1 else unit.block
        return unit.model_copy(update={"text": texts.fill(entry, {**known, "text": unit.text})})

    return prompt.model_copy(update={"units": tuple(map(asking, prompt.units))})


def candidate_keys(
    number: int,
    language: str = DEFAULT,
    wording: Wording = "own",
    way: GenerationWay = "sequential",
    speaker: str = "",
) -> list[tuple[str, str]]:
    """Return for each candidate the key of its text, and the key of whether it ends the conversation."""
    return [(keys["utterance"], keys["ends"]) for keys in _keys(number, speaker, language, wording, way)]


def keys_beside(number: int, language: str, wording: Wording, way: GenerationWay) -> list[str]:
    """Return for each candidate the key of its probability, or of the string before it; empty if there is none."""
    return [keys.get("beside", "") for keys in _keys(number, "", language, wording, way)]


def candidates_prefix(
    prompt: Prompt, language: str = DEFAULT, wording: Wording = "own", way: GenerationWay = "sequential"
) -> str:
    """Return the beginning of a reply with several candidates with which a prompt of this layout ends."""
    (keys,) = _keys(1, prompt.speaker, language, wording, way)
    return f'{{{json.dumps(next(iter(keys.values())), ensure_ascii=False)}: "' if prompt.layout == "chat_turns" else ""


def _keys(number: int, speaker: str, language: str, wording: Wording, way: GenerationWay) -> list[dict[str, str]]:
    """Return for each candidate its keys in the order of the answer: a random string first, a probability behind."""
    texts = template(way, language, wording)
    parts = {"utterance": "candidate", "beside": "beside", "ends": "ends"}
    order = ("beside", "utterance", "ends") if way == "string_seed" else ("utterance", "beside", "ends")
    return [
        {part: texts.fill(parts[part], {"number": n, "speaker": speaker}) for part in order if parts[part] in texts}
        for n in range(1, number + 1)
    ]


# --- reading --------------------------------------------------------------------------------------------------------


def read_replies(
    fields: Mapping[str, str | bool | int],
    keys: Sequence[tuple[str, str]],
    beside: Sequence[str],
    speaker: str,
    form: Mapping[str, str],
) -> list[WrittenReply]:
    """Return the distinct replies of an answer, without their speakers' names; none that repeats the form.

    Equal ones are one, in any case and punctuation, and as probable as all together. If probabilities were
    asked for, a text may be a list itself, or have its probability in it.

    Args:
        keys: Of each reply, as `candidate_keys` returns them.
        beside: The keys of the probabilities; empty ones if none were asked for.
        form: The value of each key that the model was shown.
    """
    label = re.compile(rf"^{re.escape(speaker)}(?:: |：)")
    found: dict[str, WrittenReply] = {}
    read = [(key, end, item) for (key, end), at in zip(keys, beside, strict=True) for item in _items(fields, key, at)]
    for key, end, item in _scaled(read):
        text = label.sub("", one_line(item.text), 1)
        if is_placeholder(text, form.get(key)) or (any(beside) and not folded(text)):
            continue
        known = found.get(folded(text))
        if known is None:
            found[folded(text)] = WrittenReply(text, fields.get(end), item.probability)
        elif item.probability is not None:
            total = (known.probability or 0.0) + item.probability
            found[folded(text)] = WrittenReply(known.text, known.ended, min(1.0, total))
    return [*found.values()]


def _items(fields: Mapping[str, str | bool | int], key: str, beside: str) -> list[Item]:
    """Return the value of a reply's key: one reply, or a list if a model writes all of them there."""
    written = str(fields.get(key, ""))
    if not beside:
        return [Item(written)]
    if len(items := read_list(written)) > 1:
        return items
    item = items[0] if items else read_item(written)
    stated = read_number(str(fields.get(beside, "")))
    return [item if stated is None else Item(item.text, *stated)]


def _scaled(read: Sequence[tuple[str, str, Item]]) -> list[tuple[str, str, Item]]:
    """Return items with probabilities in [0, 1]: if one is above 1, all that are no percentages are of a hundred."""
    of_hundred = any((item.probability or 0) > 1 and not item.is_percent for *_, item in read)
    scaled = []
    for key, end, item in read:
        value = item.probability
        if value is not None:
            value = value / 100 if item.is_percent or of_hundred else value
            value = value if value <= 1 else None
        scaled.append((key, end, Item(item.text, value)))
    return scaled


def read_string(string: str, text: str, placeholder: str) -> tuple[str, str]:
    """Return the random string of an answer, empty if there is none, and the utterance, without the string.

    Args:
        string: The value of the string's key.
        text: The utterance; a model may have written the string before it.
        placeholder: The string that the model was shown.
    """
    written, utterance = without_string(text)
    if string.strip() and not is_placeholder(string, placeholder) and string.strip() != placeholder.split(" ")[0]:
        return string.strip(), utterance or text
    return written, utterance or text


# --- drawing --------------------------------------------------------------------------------------------------------


def drawing_order(
    probabilities: Sequence[float | None], below: float, generator: random.Random
) -> tuple[list[int], str | None]:
    """Return the order in which replies are drawn by their stated probabilities, and a remark about these.

    Each draw is from the remaining replies, in proportion to the stated values. A reply without a probability has the
    mean of the others; if none has any, or all are 0, chances are equal. Source: Zhang et al. 2025, §4.

    Args:
        below: Replies that are less probable are drawn before all others, the tail; 1: there is no tail.
    """
    known = [value for value in probabilities if value is not None]
    mean = sum(known) / len(known) if known else 0.0
    weights = [mean if value is None else value for value in probabilities]
    remarks = []
    if not known:
        remarks.append("no probability could be read: all replies had equal chances")
    elif not mean:
        remarks.append("all stated probabilities are 0: all replies had equal chances")
    elif unknown := len(probabilities) - len(known):
        count = "1 probability" if unknown == 1 else f"{unknown} probabilities"
        place = f"the mean of the others in {'its' if unknown == 1 else 'their'} place"
        remarks.append(f"{count} of {len(probabilities)} could not be read: {place}")
    tail = [index for index, weight in enumerate(weights) if known and weight < below < 1]
    if below < 1 and not tail:
        remarks.append(f"no stated probability is below {below:g}: drawn among all")
    rest = [index for index in range(len(weights)) if index not in tail]
    return [*_drawn(tail, weights, generator), *_drawn(rest, weights, generator)], "; ".join(remarks) or None


def _drawn(indices: Sequence[int], weights: Sequence[float], generator: random.Random) -> list[int]:
    left, order = [*indices], []
    while left:
        chances = [weights[index] for index in left]
        (index,) = generator.choices(left, chances if sum(chances) else None)
        left.remove(index)
        order.append(index)
    return order
