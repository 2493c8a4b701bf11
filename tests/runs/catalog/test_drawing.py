"""Graphs as Mermaid text, and what is inside them."""

import re

from support.commands import Cli

from tertulia.runs.catalog.drawing import draw_graph

INSIDE = ("perceive", "assess", "retrieve_memory", "prune")


def test_a_group_chat_is_drawn_with_the_steps_of_cognition_and_utterance(cli: Cli) -> None:
    inside, boxes = draw_graph("group_chat").mermaid, draw_graph("group_chat", xray=False).mermaid
    assert all(f"({node})" in inside for node in INSIDE)
    assert "subgraph cognition" in inside
    assert "subgraph utterance" in inside
    for edge in ("perceive --> cognition_choose_mechanisms", "run_mechanisms --> cognition_assess",
                 "assess --> cognition_decide", "decide --> race"):  # fmt: skip
        assert f"\tcognition_{edge};" in inside
    assert not any(f"({node})" in boxes for node in INSIDE)
    assert "\tcognition(cognition)" in boxes
    drawn = cli("graph", "group_chat", "--json").json
    assert drawn["mermaid"] == inside == cli("graph", "group_chat").out == cli("graph", "group_chat", "--xray").out
    assert cli("graph", "group_chat", "--no-xray").out == boxes


def test_a_drawing_has_plain_ids_and_each_once() -> None:
    for name in ("dialogue", "group_chat"):
        drawing = draw_graph(name).mermaid
        ids = re.findall(r"^\t(\w+)\(", drawing, re.MULTILINE)
        assert len(ids) == len(set(ids))
        assert "\\" not in drawing


def test_a_chosen_node_stands_under_its_place_inside_too() -> None:
    drawing = draw_graph("group_chat", settings={"nodes.score": "length"})
    assert "score<br/>length" in drawing.mermaid
    assert drawing.nodes == [{"place": "score", "name": "length", "source": "shipped"}]
