"""Figures of runs: recomputed from the stored turns, drawn, and saved as SVG and CSV."""

import csv
import io
import operator
import xml.etree.ElementTree as ElementTree
from itertools import combinations
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Page
from support.letters import LetterEmbedder
from support.requests_to_page import ask
from support.viewer_page import serving

import tertulia
from tertulia.metrics.diversity import distinct_n, words
from tertulia.metrics.pruning import removal_of
from tertulia.metrics.running import CumulativeDistinctN
from tertulia.state.errors import ModelError
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at

TEXTS = st.lists(st.text(alphabet="ab ", max_size=12), max_size=8)


@given(TEXTS, st.integers(1, 4))
def test_diversity_so_far_is_that_of_the_dialogue_so_far(texts: list[str], n: int) -> None:
    dialogue = [("Ana", text) for text in texts]
    expected = [distinct_n([dialogue[:end]], n) for end in range(1, len(dialogue) + 1)]
    so_far = CumulativeDistinctN(n)
    assert [so_far.add(text) for text in texts] == expected


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("figures") / "t.db"


@pytest.fixture(scope="module")
def runs(path: Path) -> list[tertulia.Run]:
    """A meeting with removal and silences, its fork, and a dialogue without removal."""
    quiet = {"progress": False}
    meeting = tertulia.run("team_building", rehearse=True, rounds=6, removal_factor=0.6, store=path, **quiet)
    fork = meeting.fork(3, removal_factor=0.9, **quiet)
    return [meeting, fork, tertulia.run("tidewell", rehearse=True, rounds=3, removal_factor=0.0, store=path, **quiet)]


def test_the_figures_of_a_run_follow_from_its_records(path: Path, runs: list[tertulia.Run]) -> None:
    with SqlStore.open(path) as store:
        for run in runs:
            document = document_at(store, f"runs/{run.id}/figures")
            spoken = [turn for turn in store.turns(run.id) if turn.speaker is not None]
            lengths = [len(words(turn.text)) for turn in spoken]
            assert document["utterances"]["turn"] == [turn.turn for turn in spoken]
            assert document["utterances"]["words"] == lengths
            assert document["len"] == pytest.approx(mean(lengths))
            dialogue = [("", turn.text) for turn in spoken]
            assert [document[f"dist{n}"] for n in (1, 2, 3)] == [distinct_n([dialogue], n) for n in (1, 2, 3)]
            making = document["making"]
            for turn, removed, removable in zip(making["turn"], making["removed"], making["removable"], strict=True):
                record = store.turn_record(run.id, turn)
                removal = removal_of(record, store.prompt(record.prompt or ""))
                assert removal is not None
                assert removal.items == (removed / removable if removable else 0)  # without scores, nothing is removed
                assert (removable is None) == (record.scores is None)
            assert making["rollbacks"] == [store.turn_record(run.id, turn).rollbacks for turn in making["turn"]]
            agents = {agent["agent"]: agent["words"] for agent in document["participation"]["agents"]}
            for agent, count in agents.items():
                assert count == sum(len(turn.text.split()) for turn in spoken if turn.speaker == agent)


def test_plots_are_drawn_and_saved_as_they_are_shown(page: Page, path: Path, runs: list[tertulia.Run]) -> None:
    meeting = runs[0].id
    with serving(path) as address:
        page.goto(f"{address}#/runs/{meeting}/figures")
        with page.expect_download() as saving:
            page.get_by_role("button", name="Save the figures of “Words per utterance” as CSV").click()
        assert saving.value.suggested_filename == f"{meeting}-length.csv"
        rows = list(csv.DictReader(io.StringIO(Path(saving.value.path()).read_text())))
        assert [int(row["words"]) for row in rows] == [
            len(words(turn.text)) for turn in runs[0].turns if turn.speaker is not None
        ]
        with page.expect_download() as saving:
            page.get_by_role("button", name="Save “Diversity so far” as SVG").click()
        drawing = ElementTree.fromstring(Path(saving.value.path()).read_text())
        lines = [path for path in drawing.iter("{http://www.w3.org/2000/svg}path") if (path.get("d") or "").count("L")]
        assert len(lines) >= 3
        assert {line.get("stroke") for line in lines} > {"rgb(0, 95, 158)"}  # as computed: no style sheet is saved
        assert all(element.get("style") is None and element.get("class") is None for element in drawing.iter())


def similarity(path: Path, *given: str | LetterEmbedder) -> float:
    """The mean cosine over all pairs of the runs, whose embedder comes last."""
    *names, embedder = given
    assert isinstance(embedder, LetterEmbedder)
    with SqlStore.open(path) as store:
        turns = [[turn for turn in store.turns(str(name)) if turn.speaker is not None] for name in names]
    vectors = embedder.embed(["\n".join(f"{turn.speaker}: {turn.text}" for turn in of_run) for of_run in turns])
    return mean(sum(map(operator.mul, a, b)) for a, b in combinations(vectors, 2))


def test_similarity_is_refused_where_it_can_not_be_measured(path: Path, runs: list[tertulia.Run]) -> None:
    def missing(name: str) -> LetterEmbedder:
        raise ModelError("the embedder needs a package that is not installed")

    with serving(path, open_embedder=missing) as address:
        for asked, status, words_of_it in (
            (runs[0].id, 400, "two runs or more"),
            (f"{runs[0].id},zzzz", 404, "zzzz"),
            (f"{runs[0].id},{runs[1].id}", 400, "not installed"),
        ):
            answer = ask(address, f"api/similarity?runs={asked}")
            assert (answer.status, words_of_it in answer.json["error"]) == (status, True)
    with serving(path) as address:
        assert ask(address, "api/similarity").status == 404
