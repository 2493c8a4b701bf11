"""Memories with keys: a key that is heard brings its memory, and nothing else does."""

import pytest
from support.dialogue_case import NOW, a_memory, a_pier, many_memories

from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.nodes.shared.called_up import called_up, calling
from tertulia.nodes.shared.memory import recall
from tertulia.state.parameters import Parameters
from tertulia.state.records import Memory, Participant, Persona


def keyed(number: int, *keys: str, importance: float = 5, hours_ago: float = 2) -> Memory:
    memory = a_memory(number, f"Mara knows thing {number}.", hours_ago=hours_ago)
    return memory.model_copy(update={"keys": keys, "importance": importance})


@pytest.mark.parametrize(
    ("key", "line", "is_called"),
    [
        ("ferry", "The FERRY is late.", True),
        ("Old  Pier", "Meet me at the old pier!", True),
        ("ferry", "The ferryman is late.", False),
        ("C#", "I write C# at night.", True),
        ("渡船", "今天渡船晚了。", True),
        ("straße", "In der STRASSE.", True),
        ("", "anything", False),
        ("दिल", "मैं दिल्ली से आई हूँ।", False),
        ("दिल", "मेरा दिल टूटा।", True),
        ("istanbul", "İSTANBUL'dan geldim.", True),
        ("ışık", "IŞIK nerede?", True),
        ("N\u0303andu\u0301", "El ñandú corre.", True),
        ("كتاب", "هذا كتابٌ.", True),
    ],
)
def test_a_key_is_a_whole_word_or_a_part_of_a_line_without_spaces(key: str, line: str, is_called: bool) -> None:
    assert bool(called_up([keyed(1, key)], [line], NOW, 5)) is is_called


def test_the_situation_and_the_last_lines_call_up() -> None:
    case = a_pier().model_copy(update={"place": "the tower", "description": "They wait for the ferry."})
    assert calling(case, ["1", "2", "3", "4", "5"]) == ["the tower", "They wait for the ferry.", "2", "3", "4", "5"]


def test_only_memories_from_before_are_called_up_and_the_most_important_stay() -> None:
    assert called_up([keyed(1, "ferry", hours_ago=-1)], ["The ferry!"], NOW, 5) == []
    three = [keyed(1, "a", importance=1, hours_ago=3), keyed(2, "a", importance=9), keyed(3, "a", importance=5)]
    assert [memory.id for memory in called_up(three, ["a"], NOW, 2)] == [three[1].id, three[2].id]


def test_what_is_called_up_is_among_the_recalled_and_the_others_fill_the_places_left() -> None:
    parameters = Parameters().with_settings({"memory_items_min": 3, "memory_items_max": 3})
    least = keyed(99, "lantern", importance=0, hours_ago=9000)
    never = keyed(98, "anchor", importance=10, hours_ago=1)
    person = Participant(persona=Persona(name="Mara"), memories=(least, *many_memories("Mara", 20), never))

    def found(*heard: str) -> list[Memory]:
        return recall(person, ["the ferry"], NOW, RehearsalEmbedder(), None, parameters, heard)  # type: ignore[arg-type]

    assert not {least, never} & {*found("Hello."), *found()}
    assert found("Hello.") == found()
    assert found("Light the lantern.")[0] == least
    assert len(found("Light the lantern.")) == 3
