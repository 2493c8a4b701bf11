"""The shipped example: what it holds, where it is written, and the walk through it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.requests_to_page import ask

import tertulia
from tertulia.state.errors import UsageError
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at
from tertulia.viewer.example import EXAMPLE_STORE, example_store

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return example_store(tmp_path_factory.mktemp("example"))


def test_it_is_small_and_has_one_of_each_kind_by_the_embedded_model(example: Path) -> None:
    assert files("tertulia.viewer.example").joinpath("store.db.xz").stat().st_size < 3e6
    with SqlStore.open(example) as store:
        runs = store.runs()
        assert {"tidewell:3", "mothers_house", "villagers"} <= {run.scenario for run in runs}
        of_experiment = {run.trial.experiment: run.model for run in runs if run.trial}
        assert of_experiment == {"example": "smollm2", "example (control)": "rehearsal"}
        assert {run.status for run in runs} == {"finished"}
        assert {run.model for run in runs if not run.trial} == {"smollm2"}
        assert {0, 0.5, 1} <= {run.parameters["removal_factor"] for run in runs}
        assert any(run.parent for run in runs)
        assert store.simulations.all()


def test_each_kind_has_scores_a_reason_for_a_line_and_a_pair_at_two_factors(example: Path) -> None:
    with tertulia.open_store(example) as store:
        of_kind = {
            "dialogue": [run for run in store.runs() if run.label],
            "meeting": store.runs(scenario="mothers_house"),
            "album": store.runs(scenario="villagers"),
            "town": [run for run in store.runs() if "-" in run.id],
            "experiment": list(store.experiment("example").runs),
        }
        for kind, runs in of_kind.items():
            factors = {run.parameters.removal_factor for run in runs}
            assert {0, 0.5} <= factors, kind
            for run in runs if kind != "experiment" else runs[-1:]:
                turns = [turn for turn in run.turns if turn.speaker]
                assert any(unit.score is not None for turn in turns for unit in turn.units), (kind, run.id)
            assert any(" leaned on “" in (turn.why or "") for run in runs for turn in run.turns), kind


def test_the_experiment_bears_out_what_the_walk_says_of_it(example: Path) -> None:
    def intervals(measure: str, of: str) -> list[tuple[float, float]]:
        document = document_at(store, f"experiments/example/measures/{measure}")
        assert (document["not_measured"], len(document["cases"])) == (None, 8)
        settings = {setting["setting"]: setting for setting in document["settings"]}
        found = [settings[name] if of == "mean" else settings[name][of] for name in ("λ = 0.5", "λ = 1")]
        return [tuple(figures["interval"]) for figures in found]

    with SqlStore.open(example) as store:
        half, all_removed = intervals("divergence", "mean")
        assert 0 < half[0] < all_removed[0]
        assert half[1] < all_removed[1]
        half, all_removed = intervals("entropy", "difference")
        assert half[0] < 0 < half[1]
        assert all_removed[0] > 0


def test_what_is_there_already_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / EXAMPLE_STORE).write_bytes(b"mine")
    assert example_store(tmp_path).read_bytes() == b"mine"


def test_a_folder_that_can_t_be_written_to_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"can't be written to .*nowhere.*go to a folder of your own"):
        example_store(tmp_path / "nowhere")


#: Whether the card lies over what its step marks, or in a wide window over the units that the step speaks of too.
_COVERS_NOTHING = """(others) => {
    const card = document.querySelector(".guide").getBoundingClientRect();
    return [...document.querySelectorAll(`[data-walk]${others}`)].every((element) => {
        const of = element.getBoundingClientRect();
        return card.left >= of.right || of.left >= card.right || card.top >= of.bottom || of.top >= card.bottom;
    });
}"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of `view --example` in an empty folder."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tertulia.cli.main", "view", "--example", "--no-open", "--port", "0", "--json"],
        cwd=tmp_path,
        env={key: value for key, value in os.environ.items() if key != "TERTULIA_STORE"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    yield json.loads(process.stdout.readline())["url"]
    process.kill()
    process.communicate()


def test_the_walk_leads_through_eight_places_by_keyboard_and_is_left_by_escape(served: str, page: Page) -> None:
    assert ask(served, "api/store").json["is_example"] is True
    page.goto(served)
    walk = page.get_by_role("complementary", name="Guided walk")
    seen = []
    for number in range(1, 9):
        expect(walk).to_contain_text(f"{number} of 8")
        expect(page.locator("[data-walk]")).to_be_visible()
        for width, height, others in ((390, 844, ""), (1280, 800, ", .units" if number in (3, 4) else "")):
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_function(_COVERS_NOTHING, arg=others, timeout=10_000)
        assert page.locator("h1").first.inner_text() != "There is no such page"
        seen.append(page.evaluate("location.hash"))
        walk.get_by_role("button", name="Next" if number < 8 else "Done").focus()
        if number < 8:
            page.keyboard.press("Enter")
    assert len(set(seen)) == 8
    page.keyboard.press("Escape")
    expect(walk).to_have_count(0)
    page.reload()
    page.get_by_role("button", name="Guided walk").click()
    expect(walk).to_contain_text("1 of 8")


def test_an_unfinished_walk_stands_at_its_own_place_alone(served: str, page: Page) -> None:
    page.goto(served)
    walk = page.get_by_role("complementary", name="Guided walk")
    walk.get_by_role("button", name="Next").click()
    at = page.evaluate("location.hash")
    page.goto(f"{served}#/experiments")
    expect(page.get_by_role("heading", name="Experiments")).to_be_visible()
    expect(walk).to_have_count(0)
    page.get_by_role("button", name="Guided walk: 2 of 8").click()
    expect(walk).to_contain_text("2 of 8")
    assert page.evaluate("location.hash") == at
