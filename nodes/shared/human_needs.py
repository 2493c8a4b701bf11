"""Draw the human needs of an agent as in Humanoid Agents. The wording is the prompt's.

Source: APP A.3, after Wang et al. (2023).
"""

import random

from tertulia.state.records import HumanNeeds

#: Chance that a need is unsatisfied: fullness, social, fun, health, energy, in this order (APP A.3).
UNSATISFIED_CHANCE: dict[str, float] = {"hungry": 0.4, "lonely": 0.4, "bored": 0.4, "unwell": 0.4, "tired": 0.2}

#: Modifiers of a need, each equally likely; the empty modifier leaves the adjective alone (APP A.3).
MODIFIERS: tuple[str, ...] = ("slightly", "", "very", "extremely")

#: Chance of each emotion; `None` is neutral, the rest of the six times 8 % (APP A.3).
EMOTION_CHANCE: dict[str | None, float] = {
    "disgusted": 0.08,
    "afraid": 0.08,
    "sad": 0.08,
    "surprised": 0.08,
    "happy": 0.08,
    "angry": 0.08,
    None: 0.52,
}

#: Chance of each level of closeness to the listener (APP A.3).
CLOSENESS_CHANCE: dict[str, float] = {"distant": 0.5, "rather close": 0.2, "close": 0.2, "very close": 0.1}


def draw_human_needs(generator: random.Random) -> HumanNeeds:
    """Draw the human needs of an agent towards a listener (APP A.3).

    The prompt has an item for each unsatisfied need, for an emotion unless it is neutral, and for closeness: 1 to 7.
    Table 1 of APP gives 2 to 6, perhaps the range among its own cases; by A.3 about 5 % of draws have a single item,
    and about 0.2 % have seven.

    Args:
        generator: The agent's generator: `keyed_generator(case_seed, agent=name, node="human_needs")`. The agents of a
            case draw independently, closeness therefore per direction, and the draw holds for the whole case.
    """
    unsatisfied = tuple(
        (generator.choice(MODIFIERS), adjective)
        for adjective, chance in UNSATISFIED_CHANCE.items()
        if generator.random() < chance
    )
    (emotion,) = generator.choices(list(EMOTION_CHANCE), list(EMOTION_CHANCE.values()))
    (closeness,) = generator.choices(list(CLOSENESS_CHANCE), list(CLOSENESS_CHANCE.values()))
    return HumanNeeds(unsatisfied=unsatisfied, emotion=emotion, closeness=closeness)
