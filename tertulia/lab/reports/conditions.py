"""Settings that are one condition by different names, so that an ordering is not counted twice.

λ = 1 removes every item that λ may remove, as removing the blocks of them does: model, prompt and draws are the same,
and so are the lines, unless repetition is banned: of units that λ removed, too, but of no block that was never in the
prompt (docs/readings.md). If nothing is removed by scores, nothing about scores matters.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tertulia.lab.experiments.experiment import Setting
from tertulia.lab.reports.papers import Ordering

#: Parameters of how units are scored and taken, which do nothing if λ is 0 or 1.
_OF_REMOVAL = ("removal_order", "removal_walk", "reducer", "record_scores", "cut_long_units", "nodes.score")

#: The blocks of which λ = 1 leaves nothing, but for human needs, which a prompt has if they are set.
_ALL_BLOCKS = "bmpe"


def condition_of(setting: Setting) -> dict[str, Any]:
    """Return the parameters of a setting in a form that is equal if conversations are."""
    values: dict[str, Any] = {name: value for name, value in setting.items() if value is not None}
    if "removal_factor" in values:
        values["removal_factor"] = float(values["removal_factor"])
    if values.get("removal_factor") not in (0, 1) or "retain" in values:
        return values
    same = {name: value for name, value in values.items() if name not in _OF_REMOVAL}
    is_whole = not {"removed_blocks", "removable_blocks", "pruning", "human_needs"} & same.keys()
    if same["removal_factor"] == 1 and is_whole and _is_banned_alike(same):
        same |= {"removal_factor": 0.0, "removed_blocks": _ALL_BLOCKS}
    return same


def _is_banned_alike(setting: Setting) -> bool:
    """Return whether the ban on repetition is the same whether λ takes items or their blocks are not there."""
    has_ban = setting.get("no_repeat_ngram") != 0 or setting.get("dry", 0)  # unset is the model's own
    return not has_ban or setting.get("matched_decoding") is False


def claim_of(ordering: Ordering, settings: Mapping[str, Setting]) -> str:
    """Return the claim of an ordering, with conditions in the place of settings' names; equal if claims are."""
    named = {name: repr(sorted(condition_of(values).items())) for name, values in settings.items()}
    return json.dumps(_with_conditions(ordering.claim.model_dump(mode="json"), named), sort_keys=True)


def _with_conditions(value: Any, named: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return named.get(value, value)
    if isinstance(value, Mapping):
        return {key: _with_conditions(each, named) for key, each in value.items()}
    if isinstance(value, Iterable):
        return [_with_conditions(each, named) for each in value]
    return value
