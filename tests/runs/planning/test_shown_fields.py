"""Every field of a person reaches every prompt in which a reader would look for it, and the page about it says so."""

import pytest
from support.examples import ROOT
from support.telling_person import EVERY_FIELD

from tertulia.prompts.templates import template
from tertulia.runs.planning.shown_fields import KINDS, shown_fields
from tertulia.worlds.person_fields import PERSON_FIELDS

#: Where a field is not shown: everywhere else it must be.
NOT_SHOWN = {
    ("style", "thinking"),  # how they speak is for prompts that ask for speech, and for descriptions
    ("examples", "thinking"), ("examples", "preparing"), ("examples", "judge"),
    ("memories", "thinking"), ("memories", "preparing"),  # a mechanism recalls them there
}  # fmt: skip


def test_every_field_is_in_every_prompt_that_a_reader_would_look_for_it_in() -> None:
    assert set(EVERY_FIELD) == set(PERSON_FIELDS)
    without_descriptions = {**EVERY_FIELD, "descriptions": []}  # they are asked for
    described, undescribed = shown_fields(EVERY_FIELD), shown_fields(without_descriptions)
    missing = {
        (field, kind)
        for field in PERSON_FIELDS
        for kind in KINDS
        if max(found.shown.get(field, {}).get(kind, 0) for found in (described, undescribed)) < described.texts[field]
    }
    assert missing == NOT_SHOWN


@pytest.mark.parametrize("goals", [[], ["leave"]])
def test_the_answer_for_a_name_does_not_depend_on_its_letters(goals: list[str]) -> None:
    """Prompts ask for “ten short sentences”, and call the other one Visitor."""
    ten, quillon, visitor = (
        shown_fields({"name": name, "background": ["ten is tall"], "goals": goals}).shown["name"]
        for name in ("ten", "Quillon", "Visitor")
    )
    assert ten == quillon == visitor
    assert quillon["preparing"] == len(goals)


@pytest.mark.parametrize("language", ["de", "es", "fr", "zh"])
def test_every_language_has_an_entry_for_every_fact(language: str) -> None:
    english, other = template("utterance", "en"), template("utterance", language)
    entries = ("occupation", "style", "example", "example_after", "activity", "goal", "step", "setting", "relation")
    assert all(f"basic_info.{entry}" in english and f"basic_info.{entry}" in other for entry in entries)


def test_the_table_of_the_page_is_that_of_the_prompts() -> None:
    found = shown_fields(EVERY_FIELD)
    rows = [f"| field | {' | '.join(KINDS.values())} |", f"| :--- |{' :---: |' * len(KINDS)}"]
    for field in PERSON_FIELDS:
        cells = ("yes" if found.shown[field][kind] else "–" for kind in KINDS)
        rows.append(f"| `{field}` | {' | '.join(cells)} |")
    page = (ROOT / "docs" / "person_fields.md").read_text(encoding="utf-8")
    assert "\n".join(rows) in page, "\n".join(rows)
    assert {"field": "age", "texts": 1, "shown": found.shown["age"]} in found.document()["fields"]
