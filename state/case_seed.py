"""The seed of a case: the case itself is drawn by it, and the events in a trial of it by the run's seed.

So the trials of a case begin alike, and other cases otherwise. Source: APP §2 (identical initial conditions) and A.3.
"""

import hashlib
import json
from functools import lru_cache
from typing import Literal

from tertulia.state.meeting import Start
from tertulia.state.records import HasWithheld
from tertulia.state.same import Same

CaseSeed = int | Literal["auto", "seed"]

#: Fields that do not define a case: the names it is run under, the source of its memories, its models and mechanisms,
#: and whose items prompts have.
_NOT_THE_CASE = {"scenario", "name", "withheld", "mechanisms", "items_from"}
_NOT_THE_PARTICIPANT = {"stream", "model"}


def case_seed_of(case: HasWithheld) -> int:
    """Return the seed of a case, a meeting or a town: a digest of its content, wherever and by whatever name it lies.

    Fields that a scenario leaves at their defaults are not digested, so that a new one changes no seed.
    """
    return _seed_of(Same(case))


@lru_cache(maxsize=16)  # runs of a case begin one after another
def _seed_of(same: Same[HasWithheld]) -> int:
    case = same.held
    content = case.model_dump(
        mode="json", exclude=_NOT_THE_CASE & type(case).model_fields.keys(), exclude_defaults=True
    )
    for field in ("initiator", "partner"):
        if field in content:
            content[field] = _described(content[field])
    if "participants" in content:
        content["participants"] = [_described(participant) for participant in content["participants"]]
    written = json.dumps(content, ensure_ascii=False, sort_keys=True)
    digest = hashlib.blake2b(written.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big")


def case_key(case: Start) -> tuple[int, tuple[str, ...]]:
    """Return the key by which two starts are one case; with the names, as a digest of 32 bits may coincide."""
    return case_seed_of(case), case.names


def resolve_case_seed(chosen: CaseSeed, seed: int, case: HasWithheld) -> int:
    """Return the seed of a case: a chosen number, the digest of its content for `auto`, the run's for `seed`."""
    if chosen == "seed":
        return seed
    return case_seed_of(case) if chosen == "auto" else chosen


def _described(participant: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in participant.items() if name not in _NOT_THE_PARTICIPANT}
