"""Graphs as Mermaid text, and what is inside them."""

from support.commands import Cli

from tertulia.drawing import draw_graph

INSIDE = ("perceive", "assess", "retrieve_memory", "prune")


def test_xray_draws_cognition_and_utterance_inside_a_group_chat(cli: Cli) -> None:
    whole, inside = draw_graph("group_chat").mermaid, draw_graph("group_chat", xray=True).mermaid
    assert not any(f"({node})" in whole for node in INSIDE)
    assert all(f"({node})" in inside for node in INSIDE)
    assert "subgraph cognition" in inside
    assert "subgraph utterance" in inside
    drawn = cli("graph", "group_chat", "--xray", "--json").json
    assert drawn["mermaid"] == inside == cli("graph", "group_chat", "--xray").out


def test_a_chosen_node_stands_under_its_place_inside_too() -> None:
    drawing = draw_graph("group_chat", settings={"nodes.score": "length"}, xray=True)
    assert "score<br/>length" in drawing.mermaid
    assert drawing.nodes == [{"place": "score", "name": "length", "source": "shipped"}]


def test_xray_of_a_graph_without_others_inside_is_the_graph() -> None:
    assert draw_graph("utterance", xray=True).mermaid == draw_graph("utterance").mermaid


def test_a_place_is_drawn_under_its_name_of_today() -> None:
    drawing = draw_graph("utterance", settings={"nodes.settle": "settle"})
    assert drawing.nodes == [{"place": "select_candidate", "name": "select_candidate", "source": "shipped"}]
    assert "select_candidate<br/>select_candidate" in drawing.mermaid
