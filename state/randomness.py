"""Random numbers, all of them: nothing random is global.

A draw is keyed by its place, (seed, round, agent, node, attempt, row), so that a node executed again, alone or beside
others, draws the same numbers.
"""

import hashlib
import json
import random


def keyed_generator(
    seed: int, *, round: int = 0, agent: str = "", node: str, attempt: int = 0, row: int = 0
) -> random.Random:
    """Return the random generator for one draw of a run.

    Args:
        seed: The run's seed, any integer.
        round: The round, from 1; 0 for draws made once for the whole run.
        agent: The name of the agent that draws; empty for draws of the whole conversation.
        node: The step that draws, for example `generate`.
        attempt: The number of the try within the round, from 0.
        row: The row of a batch, from 0.
    """
    key = json.dumps([seed, round, agent, node, attempt, row], ensure_ascii=False)
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return random.Random(int.from_bytes(digest, "big"))
