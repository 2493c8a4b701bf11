"""A file that somebody sent names none of the reader's files: experiments, stores, merges, and links in folders."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli

from tertulia.storage.store import SqlStore
from tertulia.worlds.catalog import TOWNS
from tertulia.worlds.villagers import PICTURES

TOWN = TOWNS["tidewell"]

SECRET = "Ida Falk keeps the number 4711 for herself"

PRIVATE = f"""
name: private
time: 2024-05-14 09:30:00
participants:
  - {{name: Ida Falk, memories: [{SECRET}.]}}
  - {{name: Jonas Brandt, memories: [Jonas Brandt came home.]}}
"""


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the reader's own, with a scenario, pictures and a log in it."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "private.yaml").write_text(PRIVATE, encoding="utf-8")
    (folder / "Photos").mkdir()
    for name in ("apple.png", "beehive.png", "birthday_cake.png"):
        shutil.copy(PICTURES / name, folder / "Photos" / name)
    shutil.copytree(TOWN, folder / "town")
    return folder


def study(cases: str = "villagers", settings: str = "{}", name: str = "study") -> str:
    return f"name: {name}\ncases: [{cases}]\nsettings: {{a: {settings}}}\ntrials: 1\nrounds: 1\nmodel: rehearsal\n"


def sent(text: str, name: str = "study.yaml") -> Path:
    Path(name).write_text(text, encoding="utf-8")
    return Path(name)


def bytes_of(store: str) -> bytes:
    with closing(sqlite3.connect(store)) as connection:
        return "\n".join(connection.iterdump()).encode()


@pytest.mark.parametrize(
    ("cases", "settings", "named"),
    [
        ("{home}/private.yaml", "{{}}", "private.yaml"),
        ("'ga:{home}/town:0'", "{{}}", "town"),
        ("'ga:{home}/town:all'", "{{}}", "town"),
        ("villagers", "{{agents: 2, pictures: {home}/Photos}}", "Photos"),
        ("villagers", "{{agents: 2, villagers: {home}/private.yaml}}", "private.yaml"),
        ("tidewell", "{{items_from: {home}/private.yaml}}", "private.yaml"),
        ("tidewell", "{{items_from: 'tidewell:0,ga:{home}/town:0'}}", "town"),
        ("'../{up}/private.yaml'", "{{}}", "private.yaml"),
        ("link.yaml", "{{}}", "private.yaml"),
        ("folder/private.yaml", "{{}}", "private.yaml"),
    ],
)
def test_an_experiment_of_a_file_reads_nothing_out_of_its_folder_that_is_not_trusted(
    cli: Cli, home: Path, cases: str, settings: str, named: str
) -> None:
    Path("link.yaml").symlink_to(home / "private.yaml")
    Path("folder").symlink_to(home)
    up = Path("..") / home.relative_to(Path.cwd().parent) if home.is_relative_to(Path.cwd().parent) else home
    filled = {"home": home, "up": str(up).removeprefix("../")}
    file = sent(study(cases.format(**filled), settings.format(**filled)))
    refused = cli("lab", "run", str(file))
    refused.complains(2, f"tertulia trust {home / named}", "study.yaml")
    assert not Path("tertulia.db").exists()
    assert cli("trust", str(home / named)).code == 0
    assert "tertulia trust" not in cli("lab", "run", str(file)).err
    assert cli("trust", str(home / named), "--withdraw").code == 0
    cli("lab", "run", str(file)).complains(2, f"tertulia trust {home / named}")


def test_an_experiment_reads_what_lies_beside_it_wherever_it_is_run_from(cli: Cli) -> None:
    Path("studies/pictures").mkdir(parents=True)
    shutil.copy(PICTURES / "apple.png", "studies/pictures")
    Path("studies/case.yaml").write_text(PRIVATE, encoding="utf-8")
    sent(study("case.yaml"), "studies/study.yaml")
    sent(study("villagers", "{agents: 2, pictures: pictures}", "album"), "studies/album.yaml")
    for name in ("study", "album"):
        assert cli("lab", "run", f"studies/{name}.yaml").code == 0
        assert cli("lab", "resume", name).code == 0
    assert SECRET.encode() in bytes_of("tertulia.db")


def test_what_is_named_on_the_command_line_is_read_and_goes_on_without_being_named_again(cli: Cli, home: Path) -> None:
    arguments = ("--name", "mine", "--trials", "1", "--rounds", "1", "--rehearse")
    assert cli("sweep", str(home / "private.yaml"), *arguments).code == 0
    assert cli("lab", "resume", "mine").code == 0


def test_an_experiment_of_a_store_reads_nothing_that_is_not_trusted(cli: Cli, home: Path, configuration: Path) -> None:
    arguments = ("--name", "sent", "--trials", "1", "--rounds", "1", "--rehearse", "--store", "sent.db")
    assert cli("sweep", str(home / "private.yaml"), *arguments).code == 0
    with SqlStore.open("sent.db") as store:
        definition = dict(store.experiments.get("sent").definition) | {"trials": 2}
        store.experiments.save("sent", definition)
    (configuration / "trusted.json").unlink()  # somebody else has it now
    resumed = cli("lab", "resume", "sent", "--store", "sent.db")
    resumed.complains(2, f"tertulia trust {home / 'private.yaml'}", "sent.db")
    cli("trust", str(home))
    assert cli("lab", "resume", "sent", "--store", "sent.db", "--json").json["new"] == 1


def test_a_fork_that_calibrates_reads_no_scenario_that_only_the_store_names(
    cli: Cli, home: Path, configuration: Path
) -> None:
    run = cli("run", str(home / "private.yaml"), "--rehearse", "--rounds", "2", "--json").json["run"]
    (configuration / "trusted.json").unlink()
    fork = cli("fork", run, "--at", "2", "--diversity", "medium")
    fork.complains(2, f"tertulia trust {home / 'private.yaml'}")


def test_a_page_does_without_a_log_that_only_the_store_names(cli: Cli, home: Path, configuration: Path) -> None:
    arguments = ("--name", "sent", "--trials", "2", "--rounds", "2", "--rehearse")
    assert cli("sweep", f"ga:{home / 'town'}:3", *arguments).code == 0
    compare = ("lab", "compare", "sent", "--fluency-model", "none", "--embedder", "rehearsal", "--force")
    assert cli(*compare).code == 0
    assert "Beside the log" in next(Path("reports").rglob("*.md")).read_text(encoding="utf-8")
    (configuration / "trusted.json").unlink()
    assert f"tertulia trust {home / 'town'}" in cli(*compare).err
    assert "Beside the log" not in next(Path("reports").rglob("*.md")).read_text(encoding="utf-8")


def test_a_merge_that_adds_to_a_study_lists_it_and_asks(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("--trials", "1", "--rounds", "1", "--rehearse")
    for path, lambdas in (("mine.db", "0"), ("hers.db", "0,1")):
        assert cli("sweep", "tidewell", "--name", "study", "--lambda", lambdas, *arguments, "--store", path).code == 0
    other = cli("run", "tidewell", "--rehearse", "--rounds", "1", "--store", "hers.db", "--json").json["run"]
    with SqlStore.open("hers.db") as store:
        definition = json.loads(json.dumps(store.experiments.get("study").definition))
        definition["cases"].append(str(home / "private.yaml"))
        definition["settings"]["b"] = {"pictures": str(home / "Photos")}
        store.experiments.save("study", definition)
    before = definition_of("mine.db")
    refused = cli("merge", "hers.db", "--into", "mine.db", "--json")
    (source,) = json.loads(refused.out)["sources"]
    assert (refused.code, source["added"]) == (1, [other])
    assert definition_of("mine.db") == before
    for words in (str(home / "private.yaml"), f"pictures={home / 'Photos'}", "'λ = 1'", "--yes"):
        assert words in source["refused"]["experiment study"]
    asked: list[str] = []
    with monkeypatch.context() as at_a_terminal:
        at_a_terminal.setattr("tertulia.cli.terminal.status_line.can_ask", lambda: True)
        at_a_terminal.setattr("typer.confirm", lambda question, **_: asked.append(question))
        assert "give --yes" in cli("merge", "hers.db", "--into", "mine.db").err
    assert str(home / "Photos") in asked[0]
    agreed = cli("merge", "hers.db", "--into", "mine.db", "--yes")
    assert (agreed.code, "to be added" in agreed.err) == (0, True)
    assert {*definition_of("mine.db")["settings"]} == {"λ = 0", "b", "λ = 1"}
    assert cli("merge", "hers.db", "--into", "mine.db").code == 0  # there is nothing to add any more


def definition_of(store: str) -> dict[str, Any]:
    with SqlStore.open(store) as opened:
        return dict(opened.experiments.get("study").definition)


def test_links_in_a_folder_of_pictures_are_passed_over_and_told(cli: Cli, home: Path) -> None:
    Path("pictures").mkdir()
    shutil.copy(PICTURES / "apple.png", "pictures/apple.png")
    shutil.copy(PICTURES / "cactus.png", "pictures/cactus.png")
    Path("pictures/photo.png").symlink_to(home / "Photos" / "beehive.png")
    (home / "secret.yaml").write_text("apple.png: my password is Saffron\n", encoding="utf-8")
    Path("pictures/captions.yaml").symlink_to(home / "secret.yaml")
    run = cli("run", "villagers", "--set", "agents=2", "--rounds", "1", "--set", "pictures=pictures", "--rehearse")
    assert (run.code, run.err.count("links in a folder are not followed")) == (0, 1)
    stored = bytes_of("tertulia.db")
    assert b"Saffron" not in stored
    assert b"cactus" in stored


def test_a_folder_with_nothing_but_links_has_no_pictures(cli: Cli, home: Path) -> None:
    Path("pictures").mkdir()
    Path("pictures/photo.png").symlink_to(home / "Photos" / "beehive.png")
    run = cli("run", "villagers", "--set", "agents=2", "--set", "pictures=pictures", "--rehearse")
    run.complains(2, "has no pictures", "links in a folder are not followed")


def test_links_in_a_log_are_passed_over_and_told(cli: Cli, home: Path) -> None:
    shutil.copytree(TOWN, "log")
    people = sorted(path.name for path in Path("log/personas").iterdir())
    shutil.move(f"log/personas/{people[-1]}", home / people[-1])
    Path(f"log/personas/{people[-1]}").symlink_to(home / people[-1])
    run = cli("run", "ga:log", "--rehearse", "--rounds", "1")
    assert run.err.count("links in a folder are not followed") == 1
    needed = Path(f"log/personas/{people[0]}/bootstrap_memory/scratch.json")
    shutil.move(needed, home / "scratch.json")
    needed.symlink_to(home / "scratch.json")
    cli("run", "ga:log", "--rehearse").complains(2, "scratch.json", "links in a folder are not followed")


def test_links_among_stores_are_passed_over_and_told(cli: Cli, home: Path) -> None:
    run = cli("run", "tidewell", "--rehearse", "--rounds", "1", "--store", str(home / "private.db"), "--json").json[
        "run"
    ]
    Path("stores").mkdir()
    shutil.copy(home / "private.db", "stores/own.db")
    Path("stores/link.db").symlink_to(home / "private.db")
    for into, place in (("folder.db", "stores"), ("pattern.db", "stores/*.db")):
        merged = cli("merge", place, "--into", into, "--json")
        told = {source["source"]: source["error"] for source in json.loads(merged.out)["sources"]}
        assert (merged.code, told["stores/own.db"]) == (1, None)
        assert "is a link" in str(told["stores/link.db"])
    assert cli("merge", "stores/link.db", "--into", "named.db", "--json").json["sources"][0]["added"] == [run]


def test_links_among_files_of_dialogues_are_passed_over_and_told(cli: Cli, home: Path) -> None:
    line = '{"case": "%s", "dialogue": [["Ann", "Hello."], ["Ben", "Hi."]]}\n'
    (home / "private.jsonl").write_text(line % "private", encoding="utf-8")
    Path("dialogues").mkdir()
    Path("dialogues/link.jsonl").symlink_to(home / "private.jsonl")
    cli("metrics", "dialogues").complains(2, "links in a folder are not followed")
    Path("dialogues/own.jsonl").write_text(line % "own", encoding="utf-8")
    measured = cli("metrics", "dialogues", "--embedder", "rehearsal", "--json")
    assert [*measured.json["cases"]] == ["own"]
    assert measured.err.count("links in a folder are not followed") == 1


def test_every_parameter_that_names_a_file_is_known_as_one() -> None:
    from tertulia.state.parameters import Parameters
    from tertulia.state.parameters.album import NAME_FILES

    described = {
        name
        for name, field in Parameters.model_fields.items()
        if (field.description or "").startswith(("a file", "a folder"))
    }
    assert described == set(NAME_FILES)
