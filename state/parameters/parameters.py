"""Every parameter of a run, composed of its groups, and how it is set.

`APP` is Chu, Chen and Nakayama (EMNLP 2025); `CA` is ChatAgents (Huang et al. 2025); `GA` is Park et al. (2023). If a
paper is silent, docs/readings.md gives the reason for the default.
"""

from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import ValidationError

from tertulia.state.errors import SettingError, UsageError, nearest_hint
from tertulia.state.languages import DEFAULT, name_of
from tertulia.state.parameters.album import AlbumParameters
from tertulia.state.parameters.conversation import LimitParameters, NodeParameters, SeatParameters, TownParameters
from tertulia.state.parameters.group import ParameterGroup
from tertulia.state.parameters.group_chat import CognitionParameters, FloorParameters
from tertulia.state.parameters.model import JudgeParameters, SamplingParameters, ServerParameters
from tertulia.state.parameters.preset import PRESETS, PresetParameters
from tertulia.state.parameters.prompt import (
    PromptParameters,
    PruningParameters,
    SetpointParameters,
    VariationParameters,
)
from tertulia.state.wrong_values import is_no_number, shown, value_problem

#: The list of all parameters, for a message about one that is unknown.
LISTED = "; `tertulia settings` lists what there is"

#: Other names under which a parameter may be set.
ALIASES = {"lambda": "removal_factor", "λ": "removal_factor", "max_rounds": "max_turns"}

#: The values that a group chat sets otherwise (CA App. C: 100 rounds or 30 minutes, no λ); a scenario's own settings
#: come over it.
GROUP_CHAT: Mapping[str, Any] = {
    "removal_factor": 0.0,
    "max_turns": 100,
    "max_minutes": 30.0,
    "block_order": "bmpegrsc",
    "removable_blocks": "bhmpegr",
    "ending": "off",
    "memory_items_min": 3,
    "memory_items_max": 12,
}

#: The values that an album chat sets otherwise (32 rounds and 96 tokens as in the public simulation).
ALBUM_CHAT: Mapping[str, Any] = {
    "max_turns": 32,
    "max_utterance_tokens": 96,
    "removal_factor": 0.0,
    "block_order": "ebpaic",
    "removable_blocks": "bpa",
    "ending": "off",
}


#: The groups by name, in the order in which they are listed.
GROUPS: Mapping[str, type[ParameterGroup]] = {
    "preset": PresetParameters,
    "pruning": PruningParameters,
    "steering": SetpointParameters,
    "prompt": PromptParameters,
    "sampling": SamplingParameters,
    "server": ServerParameters,
    "judge": JudgeParameters,
    "variation": VariationParameters,
    "cognition": CognitionParameters,
    "floor": FloorParameters,
    "album": AlbumParameters,
    "town": TownParameters,
    "seat": SeatParameters,
    "limits": LimitParameters,
    "nodes": NodeParameters,
}


class Parameters(
    NodeParameters,  # pydantic orders the fields from the last base to the first
    LimitParameters,
    SeatParameters,
    TownParameters,
    AlbumParameters,
    FloorParameters,
    CognitionParameters,
    VariationParameters,
    JudgeParameters,
    ServerParameters,
    SamplingParameters,
    PromptParameters,
    SetpointParameters,
    PruningParameters,
    PresetParameters,
):
    """The parameters of a run, stored flat. `removal_factor` is λ, the one that the project exists for."""

    @property
    def written_together(self) -> int:
        """The number of utterances that are asked for in one call."""
        return {"sequential": self.sequential_candidates, "verbalized": VERBALIZED_REPLIES}.get(self.generation, 1)

    @property
    def drawn_max(self) -> int:
        """The number of candidates that a turn may draw; rewritten candidates are numbered from there on."""
        return self.written_together if self.written_together > 1 else self.max_rollbacks + 1

    @property
    def revisions_max(self) -> int:
        """The number of times that an utterance may be revised."""
        if self.revision == "off":
            return 0
        return self.max_rollbacks if self.revision == "rewrite" else min(self.max_rollbacks, self.drawn_max - 1)

    @property
    def scores_are_wanted(self) -> bool:
        """Whether a prompt is scored: if units are removed by score, or if it is asked for."""
        return self.may_remove or self.retain is not None or self.record_scores

    @property
    def may_remove(self) -> bool:
        """Whether λ may remove anything in some turn."""
        return self.removal_factor > 0 or self.diversity is not None

    def judging_is_wanted(self, has_removed_units: bool) -> bool:
        """Whether a candidate is judged: against the removed items, or as the baseline at λ = 0 against all items."""
        is_baseline = self.removal_factor == 0 and self.judge_baseline
        return self.judge != "off" and (has_removed_units or is_baseline or self.persona_check)

    def revision_is_wanted(self, has_removed_units: bool) -> bool:
        """Whether a candidate that conflicts is revised: not the baseline, which only shows the judge's findings."""
        return self.judge != "off" and self.revision != "off" and (has_removed_units or self.persona_check)

    def with_settings(self, settings: Mapping[str, Any], *, removal_factor: float | None = None) -> "Parameters":
        """Return a copy with some parameters changed.

        Args:
            settings: Values by parameter name, over those of a `preset` among them; strings are read as YAML scalars
                (`0.5`, `true`, `null`). `nodes.PLACE` is the name of a node, or `None` for the default;
                `NAME.PARAMETER` is a node's own, or a mechanism's.
            removal_factor: λ, over that of the settings.

        Raises:
            SettingError: A value is outside its range.
            UsageError: There is no such parameter (the nearest known one is named), or two do not fit together.
        """
        values = self.model_dump()
        settings = {**self._of_preset(settings), **settings}
        if removal_factor is not None:
            settings["removal_factor"] = removal_factor
        names = {ALIASES.get(given, given) for given in settings}
        if "removal_factor" in names and "diversity" not in names:  # a λ that is given is not steered
            values |= {"diversity": None, "setpoint": None}
        for given, value in settings.items():
            name = ALIASES.get(given, given)
            if "." in name:
                _set_dotted(values, name, value)
                continue
            if name not in type(self).model_fields or name == "weights":
                hint = nearest_hint(name, SETTABLE, otherwise=LISTED)
                raise UsageError(f"unknown parameter {name!r}{hint}")
            field = type(self).model_fields[name]
            is_text = field.annotation in (str, str | None)
            is_unset = field.default is None and value == "null"
            values[name] = None if is_unset else _read_scalar(value, "" if is_text else values[name])
            if values[name] == 0 and isinstance(values[name], float):
                values[name] = 0.0  # without a sign, by which equal runs would be told apart
            if is_no_number(values[name], field.annotation):
                raise SettingError(name, value, ": takes a number")
        try:
            changed = type(self).model_validate(values)
        except ValidationError as error:
            raise _setting_error(error) from None
        least, most = changed.memory_items
        if least > most:
            raise UsageError(f"memory_items_min={least} is above memory_items_max={most}; set both")
        changed._check_blocks()
        return changed._steered() if {"diversity", "setpoint", "pruning", "retain"} & names else changed

    def _of_preset(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings of a preset among these settings, or the defaults in place of an unset preset."""
        if "preset" not in settings:
            return {}
        if (chosen := settings["preset"]) in (None, "null"):
            return {name: type(self).model_fields[name].default for name in PRESETS.get(self.preset or "", ())}
        return PRESETS.get(str(chosen), {})  # an unknown one is refused by its type

    def _steered(self) -> "Parameters":
        """Return these parameters, if a diversity is asked for, with the λ at which the conversation begins."""
        if self.diversity is None:
            return self
        if self.setpoint is None:
            problem = ": λ is not calibrated for it; ask with --diversity, which does that first"
            raise SettingError("diversity", self.diversity, problem)
        self.check_steerable()
        self.setpoint.check_reachable(self.diversity)
        return self.model_copy(update={"removal_factor": self.setpoint.removal_factor_for(self.diversity)})

    def check_steerable(self) -> None:
        """Raise `SettingError` if `retain` or `pruning` keeps λ from acting in every turn."""
        for name, value in (("retain", self.retain), ("pruning", self.pruning if self.pruning != "every" else None)):
            if value is not None:
                problem = ": where a diversity is asked for, λ is steered in every turn; leave one of the two out"
                raise SettingError(name, value, problem)

    def check_wording(self, not_a_dialogue: str | None = None) -> None:
        """Raise `SettingError` if the paper's words are asked for and it has none.

        Args:
            not_a_dialogue: The kind of conversation, if no paper has words for it: `NAME is a meeting`.
        """
        if self.wording == "own":
            return
        if not_a_dialogue is not None:
            problem = f": the papers have dialogues of two and album chats, and {not_a_dialogue}; set wording=own"
            raise SettingError("wording", self.wording, problem)
        if self.language != DEFAULT:
            given = "preset=paper sets it; " if self.preset == "paper" else ""
            problem = (
                f": the paper's words are English, and the prompts here are in {name_of(self.language)}; {given}set "
                f"wording=own for prompts in {name_of(self.language)}, or language=en for the paper's"
            )
            raise SettingError("wording", self.wording, problem)

    def _check_blocks(self) -> None:
        """Refuse settings that ask for items of a block that is not there, or that stays."""
        if missing := next((letter for letter in self.lengths if letter in self.removed_blocks), None):
            problem = f": {missing} is a block that removed_blocks={self.removed_blocks} takes out"
            raise SettingError("block_lengths", self.block_lengths, problem)
        if self.retain is not None and (
            self.retain_block not in self.removable_blocks or self.retain_block in self.removed_blocks
        ):
            raise SettingError(
                "retain_block",
                self.retain_block,
                " is no block of which all items but one may go; set it to one of "
                f"removable_blocks={self.removable_blocks} that removed_blocks={self.removed_blocks} leaves",
            )


#: Replies in one call of verbalized sampling (Zhang et al. 2025).
VERBALIZED_REPLIES = 5

#: The names that take one value, aliases among them.
SETTABLE = (*ALIASES, *(name for name in Parameters.model_fields if name not in ("nodes", "node_settings", "weights")))


def _set_dotted(values: dict[str, Any], name: str, value: Any) -> None:
    """Set `nodes.PLACE`, or a parameter of a node or a mechanism; nothing is known of either here."""
    owner, _, key = name.partition(".")
    if not owner or not key:
        raise UsageError(f"unknown parameter {name!r}; write nodes.PLACE=NAME or NAME.PARAMETER=VALUE")
    read = _read_scalar(value, None)
    if owner != "nodes":
        settings = values["node_settings"].get(owner, {})
        values["node_settings"] = {**values["node_settings"], owner: {**settings, key: read}}
    elif read is None:
        values["nodes"] = {place: node for place, node in values["nodes"].items() if place != key}
    else:
        values["nodes"] = {**values["nodes"], key: value}


def _read_scalar(value: Any, current: Any) -> Any:
    if not isinstance(value, str) or isinstance(current, str):
        return value
    try:
        return yaml.safe_load(value)
    except (yaml.YAMLError, ValueError, LookupError, RecursionError):  # PyYAML raises these too, as for `!!int ""`
        return value


#: Bits of a whole number that a message shows in full.
_MOST_BITS = 128


def _setting_error(error: ValidationError) -> SettingError:
    problem, *others = error.errors()
    place = problem["loc"]
    # A value that a union refuses has an error for each of its types, with the type's name behind the field's.
    expected = [
        other["ctx"]["expected"]
        for other in others
        if other["loc"][:1] == place[:1] and "expected" in other.get("ctx", {})
    ]
    name = ".".join(map(str, place[:1] if expected else place)) or "parameters"
    message = f"{value_problem(problem)}{''.join(f', or {value}' for value in expected)}"
    given = problem["input"]
    is_long = isinstance(given, int) and given.bit_length() > _MOST_BITS
    return SettingError(name, shown(given) if is_long else given, f": {message}")
