"""Whom people of a town seek by what they mean to do: read out of memories, no model is asked."""

import pytest

from tertulia.nodes.town.goals import goals_in

NAMES = ("Ann Aske", "Bea Boll", "Cy Crane")


@pytest.mark.parametrize(
    ("text", "sought"),
    [
        ("Ann Aske wants to ask Bea Boll about the impeller.", ["Bea Boll"]),
        ("I want to tell Bea the truth.", ["Bea Boll"]),
        ("Ann Aske promised Cy Crane to tell Bea Boll on Sunday.", ["Bea Boll"]),
        (
            "Ann Aske's plan for Monday May 4: ask Cy Crane for ropes, and meet Bea Boll at 15:50.",
            ["Cy Crane", "Bea Boll"],
        ),
        ("She should apologise to Cy.", ["Cy Crane"]),
    ],
)
def test_what_a_memory_means_to_do(text: str, sought: list[str]) -> None:
    assert [name for name, _ in goals_in(text, NAMES, "Ann Aske")] == sought


@pytest.mark.parametrize(
    "text",
    [
        "Ann Aske asked Bea Boll about the impeller.",
        "Bea Boll wants to ask Cy Crane about the impeller.",
        "Ann Aske knows that Bea Boll wants to see Cy Crane.",
        "Ann Aske does not want to see Bea Boll.",
        "Ann Aske wonders whether she should ask Bea Boll.",
        "Ann Aske wants to sleep.",
        "",
    ],
)
def test_what_is_no_goal(text: str) -> None:
    assert goals_in(text, NAMES, "Ann Aske") == []
