"""`tertulia lab`: reports of the papers' tables and figures, and experiments of a user's own."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli

from tertulia.lab.experiments.plan import plan_digest
from tertulia.lab.reports.papers import REPORTS
from tertulia.lab.reports.report_names import ABOUT, OF_RUNS
from tertulia.storage.store import SqlStore

#: A report of one case that takes a moment.
SMALL = ("tidewell:3", "--quick", "--rehearse", "--trials", "2", "--rounds", "2")

EXPERIMENT = """
name: rules or not
cases: [tidewell:3]
settings:
  with rules: {lambda: 0.5}
  without: {lambda: 0.5, special_rules: false}
trials: 2
rounds: 2
model: rehearsal
"""


@pytest.fixture(autouse=True)
def undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw plots in one test alone: they take longest."""
    if "plots" not in request.node.name:
        monkeypatch.setattr(
            "tertulia.lab.pages.page_files.drawn", lambda figure: "<svg xmlns='http://www.w3.org/2000/svg'/>"
        )


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    file = tmp_path / "rules.yaml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    return file


def test_reports_are_listed_without_a_name(cli: Cli) -> None:
    assert [*ABOUT] == [*REPORTS, "all", *OF_RUNS]
    listed = cli("lab", "report", "--json").json["reports"]
    assert {of["report"]: of["about"] for of in listed} == ABOUT
    assert "beside APP's Table 2" in cli("lab", "report").out


def test_a_report_runs_what_it_needs_and_writes_pages_plots_and_data(cli: Cli) -> None:
    result = cli("lab", "report", "table6", *SMALL, "--trials", "3", "--json")
    document = result.json
    assert document["experiment"].startswith("table6-plain-2-rounds-rehearsal-")
    assert (document["finished"], document["missing"], document["rehearsed"]) == (6, 0, True)
    folder = Path("reports/table6")
    assert {f"table6{ending}" for ending in (".md", ".html", ".json")} <= {file.name for file in folder.iterdir()}
    assert {Path(file) for file in document["files"]} == {*folder.iterdir()}
    plan = (folder / "table6_plan.yaml").read_text()
    assert document["plan"] == {"digest": plan_digest(plan), "departures": []}
    assert json.loads((folder / "table6.json").read_text())["figures"] == document["figures"]
    text = (folder / "table6.md").read_text()
    assert "tertulia lab report table6 tidewell:3 --quick --rehearse" in text
    assert "the last command ran 6 conversations in" in text
    assert text.splitlines()[2].startswith("> **Rehearsed:")
    assert "wrote reports/table6/table6.md, table6.html, and" in result.err


def test_asked_again_it_runs_what_is_missing_and_finds_the_same(cli: Cli) -> None:
    first = cli("lab", "report", "fig9", *SMALL, "--json")
    again = cli("lab", "report", "fig9", *SMALL, "--json")
    assert "0 of 4 trials to run" in again.err
    assert again.json == first.json
    more = cli("lab", "report", "fig9", *SMALL, "--trials", "3", "--json")
    assert "2 of 6 trials to run" in more.err
    assert more.json["experiment"] == first.json["experiment"]
    only = cli("lab", "report", "fig9", *SMALL, "--trials", "3", "--report-only", "--json")
    assert only.json == more.json
    lines = Path("reports/fig9/fig9_by_index.csv").read_text().splitlines()
    assert {"dist-3 at index 0", "dist-3 at index 1"} <= {row["metric"] for row in csv.DictReader(lines)}


def test_bad_values_are_refused_before_anything_is_run(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("lab", "report", "fig9", "nowhere", "--rehearse").complains(3, "nowhere")
    cli("lab", "report", "fig9", "--trials", "0", "--rehearse").complains(2, "--trials")
    cli("lab", "report", "fig10").complains(3, "fig10", "did you mean")
    cli("lab", "report", "album", "aaaa", "bbbb", "--quick").complains(2, "--quick: report album reads stored runs")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    cli("lab", "report", "fig9", *SMALL).complains(2, "Parquet files need pyarrow", "pip install --editable '.[lab]'")
    assert not Path("tertulia.db").exists()


def test_an_experiment_of_a_file_is_run_listed_and_compared(cli: Cli, experiment: Path) -> None:
    dry = cli("lab", "run", str(experiment), "--dry-run")
    assert "4 of 4 trials to run" in dry.out
    assert cli("lab", "run", str(experiment), "--json").json == {
        "experiment": "rules or not",
        "status": "finished",
        "runs": 4,
        "new": 4,
    }
    assert cli("lab", "run", str(experiment), "--json").json["new"] == 0
    (listed,) = cli("lab", "list", "--json").json["experiments"]
    assert (listed["experiment"], listed["finished"], listed["missing"]) == ("rules or not", 4, 0)
    assert "rules or not" in cli("lab", "list").out
    result = cli("lab", "compare", "rules or not", "--baseline", "without", "--metric", "dist3", "--json")
    document = result.json
    assert document["baseline"] == "without"
    assert {figure["metric"] for figure in document["figures"]} == {"dist3"}
    assert document["orderings"] == []
    assert {file.name for file in Path("reports").iterdir()} == {"rules-or-not-dist3-against-without"}


def test_what_can_not_be_compared_is_refused_in_one_line(cli: Cli, experiment: Path) -> None:
    cli("lab", "run", str(experiment))
    cli("lab", "compare", "rules").complains(3, "no experiment 'rules'", "rules or not")
    cli("lab", "compare", "rules or not", "--baseline", "with").complains(2, "--baseline with: no such setting")
    cli("lab", "compare", "rules or not", "--metric", "dist4").complains(2, "--metric dist4: unknown")
    cli("lab", "run", "missing.yaml").complains(3, "missing.yaml")
    experiment.write_text(EXPERIMENT.replace("trials: 2", "trails: 2"), encoding="utf-8")
    cli("lab", "run", str(experiment)).complains(2, "trails")


# --- cases ----------------------------------------------------------------------------------------------------------

TALK = "name: talk\ntime: 2026-05-04 09:00\nparticipants:\n- name: Ann\n- name: Bo\n"


def swept(cli: Cli, *cases: str, name: str = "study") -> Any:
    given = ("--lambda", "0,1", "--trials", "1", "--rounds", "2", "--rehearse", "--name", name)
    return cli("sweep", *cases, *given)


def test_a_case_under_two_names_is_refused_at_once_and_when_a_study_grows(cli: Cli, tmp_path: Path) -> None:
    for file in ("talk.yaml", "copy.yaml"):
        Path(file).write_text(TALK, encoding="utf-8")
    Path("other.yaml").write_text(TALK.replace("Bo", "Cy"), encoding="utf-8")
    for first, second in (
        ("tidewell", "tidewell:7"),
        ("tidewell:7", "tidewell:07"),
        ("talk.yaml", "./talk.yaml"),
        ("talk.yaml", str(tmp_path / "talk.yaml")),
        ("talk.yaml", "copy.yaml"),
    ):
        swept(cli, first, second).complains(2, f"{first!r} and {second!r} are one case")
    swept(cli, "tidewell", "tidewell:all").complains(2, "'tidewell' and 'tidewell:7' are one case")
    assert swept(cli, "talk.yaml", "other.yaml").code == 0
    swept(cli, "copy.yaml").complains(2, "'talk.yaml' and 'copy.yaml' are one case")
    assert swept(cli, "talk.yaml", "tidewell:1").code == 0


def test_a_study_is_compared_without_its_files_and_says_what_is_not_known(cli: Cli) -> None:
    Path("talk.yaml").write_text(TALK, encoding="utf-8")
    assert swept(cli, "talk.yaml", "tidewell:1").code == 0
    with SqlStore.open(Path("tertulia.db")) as store:
        record = store.experiments.get("study")
        store.experiments.save("study", {**record.definition, "trials": 2})
    Path("talk.yaml").unlink()
    compared = cli("lab", "compare", "study")
    assert compared.code == 0, compared.err
    assert "4 conversations of 8 of study missing" in compared.err
    assert "how long they take is not known: there is no scenario file 'talk.yaml'" in compared.err
