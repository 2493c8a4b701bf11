"""Presets: settings that stand for many others at once."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from tertulia.state.parameters.group import ParameterGroup

#: By preset, the values that it sets. `paper`: Chu, Chen and Nakayama (EMNLP 2025), for models that can follow it; the
#: default of some is the same, and is repeated here so that the preset holds whatever a scenario or a model would have.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {
        "layout": "single_message",  # Table 9
        "wording": "paper",  # Table 9, §4.1, §5
        "block_order": "bmpec",
        "special_rules": False,  # Table 9 names the block, and has nothing in it
        "memory_items_min": 30,  # Table 1
        "memory_items_max": 45,
        "focal_lines": "joined",
        "previous_dialogues_max": 3,
        "dialogue_window": 16,
        "removable_blocks": "bhmpe",  # §3.1
        "removal_order": "descending",
        "removal_walk": "paper",
        "pruning": "every",
        "reducer": "sum-mean",
        "scoring_responses": 3,
        "scoring_tokens": 0,
        "scored_layers": "all",
        "cut_long_units": False,  # §2: an item is a unit
        "temperature": 0.8,  # Table 3
        "top_p": 0.9,
        "min_p": 0.0,
        "generation": "single",
        "no_repeat_ngram": 0,
        "dry": 0.0,
        "context_strength": 0.0,
        "drafts": 1,
        "redraws": 0,
        "score_decay": 0.0,
        "max_utterance_tokens": 240,  # none is stated; utterances have 40 words
        "ending": "reply",  # Table 9
        "ending_threshold": None,
        "judge": "rating",  # §4.1
        "judge_runs": 3,
        "inconsistency_threshold": 6.67,
        "revision": "rollback",
        "max_rollbacks": 3,
        "backups": "with_utterance",
        "max_turns": 16,  # Table 8
        "max_minutes": None,
        "case_seed": "auto",  # A.3
        "agreements": False,
        "day_plans": "log",
        "willingness": "computed",  # ChatAgents App. B, Eq. 1
    },
}


class PresetParameters(ParameterGroup):
    """A setting for many; those that are set beside it come over it."""

    preset: Literal["paper"] | None = Field(
        None,
        description="paper: what Chu et al. (APP) state, for dialogues of two and models that can: "
        + ", ".join(f"{name}={'null' if value is None else value}" for name, value in PRESETS["paper"].items()),
    )
