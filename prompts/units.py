"""From the parts of blocks to the units of a prompt, in prompt order. Source: APP §2, Table 1."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tertulia.state.parameters import Layout
from tertulia.state.records import BLOCK_INITIALS, Prompt, Unit, UnitKind
from tertulia.state.text import folded

#: Items that λ may never remove, nor a length of their block drop or copy: the subject of a meeting, the people in it,
#: the time, and with that its end and the speaker's departure. Only meetings have units of these ids.
FIXED_UNITS = frozenset(f"environment.{item}" for item in ("meeting", "people", "clock", "end", "departure"))

#: Block, kind and text of a unit whose id is its block and its number.
NumberedPart = tuple[str, UnitKind, str]

#: A block whose texts inform, and instruct nobody: how a speaker of a meeting sees things, feels and thinks.
_INFORMING = "situation"
#: Every line answers it, so that it explains none.
_DIALOGUE = "current_dialogue"


def nameable_units(prompt: Prompt) -> list[Unit]:
    """Return the units that a line or a thought can be said to lean on: information, whether λ may remove it or not.

    Left out are instructions, examples, and in the prompt for an utterance the current dialogue.
    """
    return [unit for unit in informing_units(prompt) if unit.block != _DIALOGUE]


def informing_units(prompt: Prompt) -> list[Unit]:
    """Return the units that can be left out to see whether a line needs them: all but instructions and examples."""
    return [unit for unit in prompt.units if unit.block == _INFORMING or unit.kind == "item"]


def copies_of(units: Sequence[Unit]) -> dict[str, tuple[str, ...]]:
    """Return by unit the ids of all units with its words, ignoring case and punctuation, its own among them."""
    by_words: dict[str, list[str]] = {}
    for unit in units:
        by_words.setdefault(folded(unit.text), []).append(unit.id)
    return {unit.id: tuple(by_words[folded(unit.text)]) for unit in units}


@dataclass(frozen=True)
class Part:
    """A part of a block, which becomes a unit.

    Attributes:
        id: The end of its id; `None`: its kind, and its number among those of its kind.
        speaker: Its speaker, if it is shown as a chat turn.
        picture: Content hash of the picture that a model is shown in its place.
    """

    kind: UnitKind
    text: str
    id: str | None = None
    speaker: str | None = None
    picture: str | None = None


def order_of(blocks: str, layout: Layout) -> list[str]:
    """Return the names of all blocks in the order of a layout.

    Args:
        blocks: Initials of those that have one, in order.
        layout: In `chat_turns` the dialogue is the end of the prompt, so that all other blocks come before it.
    """
    order = [BLOCK_INITIALS[initial] for initial in blocks]
    instructions = ["task", "special_rules", "output_instruction"]
    if layout == "chat_turns":
        at = order.index("current_dialogue")
        return ["opening", *order[:at], *instructions, "example", *order[at:]]
    return ["opening", *order, *instructions]


def prompt_of(
    speaker: str, layout: Layout, blocks: str, removable: str, parts_of: Callable[[str], Iterable[Part]]
) -> Prompt:
    """Return the prompt that the parts of its blocks make.

    Args:
        blocks: Initials of the blocks in their order in the prompt.
        removable: Initials of the blocks whose items may be removed, but for `FIXED_UNITS`.
    """
    removable_blocks = {BLOCK_INITIALS[initial] for initial in removable}
    units: list[Unit] = []
    for block in order_of(blocks, layout):
        counts = {"item": 0, "text": 0}
        for part in parts_of(block):
            counts[part.kind] += 1
            id = f"{block}.{part.id or f'{part.kind}_{counts[part.kind]}'}"
            is_removable = part.kind == "item" and block in removable_blocks and id not in FIXED_UNITS
            units.append(_unit(id, block, part.kind, part.text, is_removable, part.speaker, part.picture))
    return Prompt(units=tuple(units), speaker=speaker, layout=layout)


def numbered(parts: Iterable[NumberedPart]) -> Prompt:
    """Return the prompt of these parts for a reader who is nobody in it; its units are numbered, none is removable."""
    units = (
        _unit(f"{block}.{at}", block, kind, text, False, None, None) for at, (block, kind, text) in enumerate(parts)
    )
    return Prompt(units=tuple(units), speaker="", layout="single_message")


@lru_cache(maxsize=2048)  # most units of a turn were in an earlier prompt, and were validated then
def _unit(
    id: str, block: str, kind: UnitKind, text: str, removable: bool, speaker: str | None, picture: str | None
) -> Unit:
    return Unit(id=id, block=block, kind=kind, text=text, removable=removable, speaker=speaker, picture=picture)
