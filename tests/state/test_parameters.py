"""Parameters: groups and their listing, blocks by letter and by name, and what is refused with which words."""

import pickle
from dataclasses import replace
from typing import Any

import pytest

from tertulia.models.local import embedded
from tertulia.models.rehearsal import RehearsalEmbedder, RehearsalModel
from tertulia.models.served import chat_names
from tertulia.runs.access.engines import Engines
from tertulia.runs.access.suited import suited_to
from tertulia.state.blocks import letters_of
from tertulia.state.errors import SettingError, UsageError
from tertulia.state.language_model import ModelTraits
from tertulia.state.parameters import LONG, SETTABLE, Parameters, parameter_groups
from tertulia.state.parameters.parameters import GROUPS


def test_every_parameter_stands_in_one_group_and_is_listed() -> None:
    listed = [parameter.name for group in parameter_groups() for parameter in group.parameters]
    assert listed == [name for name in Parameters.model_fields if name != "weights"]  # noted, and not to be set
    assert len(set(listed)) + 1 == sum(len(group.model_fields) for group in GROUPS.values())
    assert {"nodes", "node_settings", "lambda"} <= {*listed, *SETTABLE}
    for group in parameter_groups():
        assert group.title
        assert all(parameter.description and parameter.values for parameter in group.parameters)


def test_a_listing_has_values_defaults_and_sources() -> None:
    listed = {parameter.name: parameter for group in parameter_groups() for parameter in group.parameters}
    factor, retain, seat = listed["removal_factor"], listed["retain"], listed["seat"]
    assert (factor.group, factor.aliases, factor.default) == ("pruning", ("lambda", "λ"), 0.5)
    assert factor.values == "number at least 0 and at most 1"
    assert "APP §3.1" in factor.description
    assert (retain.kind, retain.choices, retain.may_be_unset) == ("choice", ("highest", "lowest"), True)
    assert (seat.values, listed["tie_s"].values) == ("text, or null", "number at least 0")
    assert listed["human_needs"].values == "true or false"


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ({"removable_blocks": "memory,previous_dialogues"}, {"removable_blocks": "mp"}),
        ({"removable_blocks": "memory, p"}, {"removable_blocks": "mp"}),
        ({"removable_blocks": "mp"}, {"removable_blocks": "mp"}),
        ({"removed_blocks": "memory"}, {"removed_blocks": "m"}),
        ({"removed_blocks": ""}, {"removed_blocks": ""}),
        ({"block_order": "current_dialogue,environment,m"}, {"block_order": "cem"}),
        ({"retain": "lowest", "retain_block": "environment"}, {"retain_block": "e"}),
        ({"block_lengths": "memory=10,p~250w"}, {"block_lengths": "m=10,p~250w"}),
        ({"block_lengths": " memory = 10 , previous_dialogues~9w"}, {"block_lengths": " m = 10 , p~9w"}),
    ],
    ids=str,
)
def test_blocks_are_written_by_name_or_letter_and_stored_as_letters(
    written: dict[str, str], stored: dict[str, str]
) -> None:
    parameters = Parameters().with_settings(written)
    assert parameters.model_dump(include=set(stored)) == stored
    assert Parameters.model_validate(parameters.model_dump()) == parameters


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("removable_blocks", "memry,goals", "unknown block 'memry' (did you mean 'memory'?) (known: b basic_info, "),
        ("removed_blocks", "bx", "unknown block letter 'x' (known: b basic_info, "),
        ("removed_blocks", "memory,m", "block letter 'm' stands twice in 'memory,m': it is memory"),
        ("removable_blocks", "current_dialogue", "the current dialogue (c) can't be removed"),
        ("removable_blocks", "situation", "(s) can't be removed"),
        ("block_order", "memory", "the current dialogue (c) is missing"),
        ("retain_block", "mp", "it is the letter of one block, or its name (known: b basic_info, "),
        ("retain_block", "", "it is the letter of one block, or its name"),
        ("block_lengths", "memry=10", "'memry=10' is no length of a block"),
        ("block_lengths", "memory=1,m=2", "block letter 'm' stands twice"),
        ("removal_factor", 1.5, "takes 1 at most"),
        ("max_turns", "many", "whole number"),
        ("max_turns", True, "takes a number"),
        ("removal_factor", True, "takes a number"),
        ("max_minutes", False, "takes a number"),
        ("revision", "redo", "'rollback', 'rewrite', 'combined' or 'off'"),
    ],
)
def test_a_value_that_is_refused_is_named_with_its_parameter(setting: str, value: Any, words: str) -> None:
    with pytest.raises(SettingError) as refused:
        Parameters().with_settings({setting: value})
    error = refused.value
    assert (error.setting, error.value) == (setting, value)
    assert str(error) == f"{setting}={value}{error.problem}"
    assert words in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_zero_has_no_sign_by_which_equal_settings_would_differ() -> None:
    for given in (-0.0, "-0", "-0.0"):
        assert str(Parameters().with_settings({"lambda": given}).removal_factor) == "0.0"


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(SettingError, match=r"block_lengths=m=2: m is a block that removed_blocks=m takes out"):
        Parameters().with_settings({"block_lengths": "m=2", "removed_blocks": "m"})
    with pytest.raises(SettingError, match="retain_block=m is no block of which all items but one may go"):
        Parameters().with_settings({"retain": "highest", "removable_blocks": "e"})
    with pytest.raises(UsageError, match="memory_items_min=30 is above memory_items_max=2; set both"):
        Parameters().with_settings({"memory_items_min": 30, "memory_items_max": 2})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lamda", "unknown parameter 'lamda' (did you mean 'lambda'?)"),
        ("foo", "unknown parameter 'foo'; `tertulia settings` lists what there is"),
    ],
)
def test_an_unknown_parameter_is_named_and_the_message_stays_short(name: str, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        Parameters().with_settings({name: 1})
    assert str(refusal.value) == message


def test_what_is_no_text_is_left_to_the_types() -> None:
    assert letters_of(3) == 3
    with pytest.raises(SettingError, match="removed_blocks=3: takes a text"):
        Parameters().with_settings({"removed_blocks": 3})


# --- what follows the model -----------------------------------------------------------------------------------------


def test_lengths_follow_the_model_unless_they_are_given() -> None:
    hosted, local = chat_names.TRAITS, ModelTraits(None, "single_message", "rating")
    names = ("max_utterance_tokens", "max_thought_tokens", "max_reason_tokens")
    lengths = {
        traits: [getattr(suited_to(traits, Parameters()), name) for name in names]
        for traits in (embedded.TRAITS, local, hosted)
    }
    assert lengths[embedded.TRAITS] == [60, 32, 12]
    assert all(a < b < c for a, b, c in zip(*(lengths[traits] for traits in lengths), strict=True))
    given = suited_to(hosted, Parameters().with_settings({"max_utterance_tokens": "80", "max_thought_tokens": "auto"}))
    assert (given.max_utterance_tokens, given.utterance_tokens) == (80, 80)
    assert given.thought_tokens == lengths[hosted][1]


def test_choices_are_read_from_probabilities_only_of_the_embedded_model() -> None:
    traits = (embedded.TRAITS, chat_names.TRAITS, RehearsalModel().traits, ModelTraits(None, "chat_turns", "rating"))
    assert [suited_to(each, Parameters()).choices for each in traits] == ["probabilities", "reply", "reply", "reply"]


def test_thoughts_are_as_long_as_suits_who_thinks() -> None:
    speaker, thinker = RehearsalModel("speaker"), RehearsalModel("thinker")
    speaker.traits, thinker.traits = replace(embedded.TRAITS, choices="probabilities"), chat_names.TRAITS
    recorded = Engines(speaker, {}, RehearsalEmbedder(), {"think": thinker}).recorded(Parameters())
    lengths = [recorded[f"max_{what}_tokens"] for what in ("utterance", "thought", "reason")]
    assert lengths == [60, LONG.thought, LONG.reason]
    assert recorded["choices"] == "reply"


def test_a_length_is_listed_with_its_bounds_and_refused_by_name() -> None:
    (listed,) = [p for group in parameter_groups() for p in group.parameters if p.name == "max_reason_tokens"]
    assert listed.values == "auto | whole number at least 4 and at most 256"
    for value in ("3", "long", "2.5"):
        with pytest.raises(SettingError, match=r"^max_reason_tokens=.*or 'auto'$"):
            Parameters().with_settings({"max_reason_tokens": value})
