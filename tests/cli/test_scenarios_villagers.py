"""`tertulia scenarios` lists populations, and what is wrong with one ends a run before anything is stored."""

from support.commands import Cli


def test_villagers_are_listed(cli: Cli) -> None:
    listed = cli("scenarios").out
    assert (
        "tertulia run villagers\nVillagers and their albums, Saturday 16 May 2026, 10:00, the village green\n" in listed
    )
    (case,) = cli("scenarios", "villagers", "--json").json["cases"]
    assert (case["scenario"], len(case["participants"]), case["place"]) == ("villagers", 32, "the village green")
