"""When a run has the rules by words, how it notes them, and that the engine runs without them."""

from pathlib import Path

from support.commands import Cli

from tertulia.nodes.machinery.extensions import reload_extensions
from tertulia.state.cognition import Bid
from tertulia.storage.store import SqlStore

MEETING = ("run", "mothers_house", "--rehearse", "--rounds", "3", "--json")
TOWN = ("simulate", "tidewell", "--rehearse", "--encounters-per-day", "1", "--set", "max_turns=2", "--json")


def sources(store: Path, run: str) -> list[str]:
    with SqlStore.open(store) as opened:
        return [extension.source for extension in opened.run(run).extensions]


def test_a_meeting_notes_its_rule_and_a_fork_goes_on_with_it_or_without(cli: Cli, tmp_path: Path) -> None:
    store = tmp_path / "tertulia.db"
    run = cli(*MEETING).json["run"]
    assert sources(store, run) == ["tertulia.rules.address"]
    assert sources(store, cli("fork", run, "--at", "2", "--json").json["run"]) == ["tertulia.rules.address"]
    without = cli(*MEETING, "--set", "nodes.read_address=null").json["run"]
    assert sources(store, without) == []
    with SqlStore.open(store) as opened:
        assert {bid.address for bid in opened.steps(without, "bid", Bid).values()} <= {0.0, 0.5}


def test_a_town_notes_its_rule_and_goes_on_with_it_or_without(cli: Cli, tmp_path: Path) -> None:
    store = tmp_path / "tertulia.db"
    for settings, noted in (((), ["tertulia.rules.importance"]), (("nodes.rate_importance=rate_importance",), [])):
        simulation = cli(*TOWN, *(part for value in settings for part in ("--set", value))).json["simulation"]
        assert cli("simulate", "--resume", simulation, "--days", "2", "--json").json["encounters"] == 2
        assert [sources(store, f"{simulation}-{day}-1") for day in (1, 2)] == [noted, noted]
    assert cli("fork", f"{simulation}-1-1", "--at", "2", "--json").code == 0


RATER = """import tertulia as tt

@tt.node("rate_importance")
def everything(state, runtime):
    return {"importance": [VALUE for _ in state["memories"]]}

NODES = (everything,)
"""


def test_a_node_of_ones_own_rates_in_a_town_and_is_held_to_its_place(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "rater.py").write_text(RATER.replace("VALUE", "7"))
    given = ("--extension", "rater.py", "--set", "nodes.rate_importance=everything")
    simulation = cli(*TOWN, *given).json["simulation"]
    assert cli("simulate", "--resume", simulation, "--days", "2", "--json").json["encounters"] == 2
    with SqlStore.open(tmp_path / "tertulia.db") as opened:
        formed = opened.file.rows("SELECT DISTINCT importance FROM memories WHERE memory LIKE 'day_%'")
        assert [row["importance"] for row in formed] == [7]
    (tmp_path / "rater.py").write_text(RATER.replace("VALUE", "11"))
    failed = cli(*TOWN, *given)
    assert (failed.code, "importance has 11.0; it is from 1 to 10" in failed.err) == (1, True)
    changed = cli("simulate", "--resume", simulation, "--days", "3")
    assert (changed.code, "has changed since the run began" in changed.err) == (2, True)


def test_a_shipped_rule_is_trusted_and_changes_with_the_program(cli: Cli, tmp_path: Path) -> None:
    run = cli(*MEETING).json["run"]
    with SqlStore.open(tmp_path / "tertulia.db") as opened:
        (noted,) = opened.run(run).extensions
    assert reload_extensions([noted.model_copy(update={"hash": "0" * 32})]).extensions == (noted,)
