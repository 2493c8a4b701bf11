"""Two runs side by side: page and documents say what `diff` says, and of long runs few turns are read."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.stored import a_candidate, a_case, a_prompt, a_run, a_turn_record
from support.viewer_page import serving

import tertulia
from tertulia.state.errors import SettingError
from tertulia.state.records import Turn
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at
from tertulia.views.reading import differences
from tertulia.views.reading.comparing import compare, comparison_document

Runs = dict[str, tertulia.Run]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compare") / "t.db"


@pytest.fixture(scope="module")
def runs(path: Path) -> Runs:
    """Conversations of each kind with forks, by what was changed in them, and one that was held twice."""
    quiet = {"progress": False}
    meeting = tertulia.run("team_building", rehearse=True, rounds=4, removal_factor=0.4, store=path, **quiet)
    dialogue, again = (
        tertulia.run("tidewell", rehearse=True, rounds=4, removal_factor=0.5, store=path, **quiet) for _ in range(2)
    )
    album = tertulia.run("villagers", rehearse=True, rounds=2, agents=4, store=path, **quiet)
    return {
        "meeting": meeting,
        "λ of a meeting": meeting.fork(3, removal_factor=0.9, **quiet),
        "nothing": meeting.fork(3, **quiet),
        "dialogue": dialogue,
        "the same": again,
        "album": album,
        "seed of an album": album.fork(3, seed=9, **quiet),
        "λ": dialogue.fork(3, removal_factor=0.95, **quiet),
        "words": dialogue.fork(2, say="Have you seen <b>my</b> boat?", **quiet),
        "shorter": dialogue.fork(3, rounds=3, **quiet),
    }


@pytest.fixture(scope="module")
def address(path: Path, runs: Runs) -> Iterator[str]:
    with serving(path) as address:
        yield address


PAIRS = [("meeting", "λ of a meeting"), ("dialogue", "words"), ("dialogue", "shorter")]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_the_page_opens_where_diff_says_that_they_part(page: Page, address: str, runs: Runs, a: str, b: str) -> None:
    parting = tertulia.diff(runs[a], runs[b]).first_divergence
    assert parting is not None
    page.goto(f"{address}#/compare/{runs[a].id}/{runs[b].id}")
    chosen = page.locator(".turn-difference.chosen")
    expect(chosen).to_have_attribute("data-turn", str(parting.turn))
    expect(chosen.get_by_role("heading").first).to_be_in_viewport()
    aspects = chosen.locator(".row > .tag").all_inner_texts()
    assert aspects == [aspect.replace("_", " ") for aspect in parting.aspects] or parting.b is None
    expect(page.get_by_role("heading", name=f"They part at turn {parting.turn}")).to_be_visible()
    if parting.turn > 1:
        shared = f"Turns 1 to {parting.turn - 1} are the same" if parting.turn > 2 else "Turn 1 is the same"
        expect(page.get_by_text(shared)).to_be_visible()


def test_what_differs_in_a_turn_is_what_its_records_say(path: Path, runs: Runs) -> None:
    a, b = runs["meeting"], runs["λ of a meeting"]
    with SqlStore.open(path) as store:
        document = document_at(store, f"diff/{a.id}/{b.id}/turns", {"of": "1,2,3,4"})
        for turn in document["turns"]:
            if turn["turn"] == 0 or turn["only_in"]:
                continue
            removed = [store.turn_record(run.id, turn["turn"]).removed for run in (a, b)]
            assert turn["removed_only_in_a"] == [unit for unit in removed[0] if unit not in removed[1]]
            scores = [store.turn_record(run.id, turn["turn"]).scores or {} for run in (a, b)]
            gaps = sorted(
                (abs(scores[0][unit] - scores[1][unit]) for unit in {*scores[0]} & {*scores[1]}), reverse=True
            )
            assert [abs(row["a"] - row["b"]) for row in turn["scores"]] == [gap for gap in gaps if gap][:5]
    assert not any("differences" in turn for turn in document["turns"])


def test_keys_and_buttons_go_from_difference_to_difference(page: Page, address: str, runs: Runs) -> None:
    a, b = runs["meeting"], runs["λ of a meeting"]
    turns = [turn.turn for turn in tertulia.diff(a, b).comparison.differing]
    page.goto(f"{address}#/compare/{a.id}/{b.id}")
    chosen = page.locator(".turn-difference.chosen")
    expect(chosen).to_have_attribute("data-turn", str(turns[0]))
    page.keyboard.press("n")
    expect(chosen).to_have_attribute("data-turn", str(turns[1]))
    expect(page.locator(":focus")).to_have_text(f"Turn {turns[1]}")  # a moment after it is chosen
    page.reload()
    expect(chosen).to_have_attribute("data-turn", str(turns[1]))
    page.keyboard.press("p")
    expect(chosen).to_have_attribute("data-turn", str(turns[0]))
    expect(page.get_by_role("button", name="Previous difference")).to_be_disabled()
    page.get_by_role("link", name="Why B said that").first.click()
    expect(page).to_have_url(re.compile(f"#/runs/{b.id}\\?turn={turns[0]}"))


def test_runs_without_turns_are_compared(tmp_path: Path) -> None:
    with SqlStore.open(tmp_path / "t.db", create=True) as store:
        store.create_run(a_run("aaaa"), a_case())
        store.create_run(a_run("bbbb", seed=8), a_case())
        document = document_at(store, "diff/aaaa/bbbb")
    assert document["differing"] == []
    assert [setting["path"] for setting in document["settings"]] == [["seed"]]
    assert document["summary"] is None


# --- the documents ---------------------------------------------------------------------------------------------------


LONG = 400


def test_any_two_runs_part_and_differ_where_diff_says(path: Path, runs: Runs) -> None:
    with SqlStore.open(path) as store:
        for a, b in product([run.id for run in runs.values()], repeat=2):
            expected = comparison_document(compare(store, a, b), {})
            found = document_at(store, f"diff/{a}/{b}")
            for name in ("first_divergence", "identical", "settings"):
                assert found[name] == expected[name], (a, b)
            numbers = ",".join(map(str, found["differing"]))
            read = document_at(store, f"diff/{a}/{b}/turns", {"of": numbers})
            assert [row["turn"] for row in read["turns"]] == [row["turn"] for row in expected["turns"]], (a, b)
            assert {*found["differing"]} == {row["turn"] for row in read["turns"]} | {*read["same"]}
            for row, whole in zip(read["turns"], expected["turns"], strict=True):
                assert row.items() >= {name: whole[name] for name in whole if name != "differences"}.items()


def write_short_turns(store: SqlStore, run: str, first: int, last: int, unlike: tuple[int, ...] = ()) -> None:
    with store.transaction():
        for turn in range(first, last + 1):
            prompt = a_prompt(turn, memories=3, others=1)
            scores = {unit.id: (i + turn % 7) / 10 + (turn in unlike) for i, unit in enumerate(prompt.units)}
            store.save_candidate(run, turn, a_candidate(0, turn))
            spoken = Turn(turn=turn, round=turn, speaker="Ana", text=f"Line {turn}.", sim_time_s=turn, ended=False)
            record = a_turn_record(turn, prompt=store.save_prompt(prompt), scores=scores)
            store.save_turn(run, record.model_copy(update={"turn": spoken}))


@pytest.fixture
def long_runs(tmp_path: Path) -> Path:
    """Two long runs that differ in the scores of two turns alone, and a fork that differs from its first turn on."""
    path = tmp_path / "long.db"
    with SqlStore.open(path, create=True) as store:
        for run in ("aaaa", "bbbb"):
            store.create_run(a_run(run), a_case())
        write_short_turns(store, "aaaa", 1, LONG)
        write_short_turns(store, "bbbb", 1, LONG, unlike=(250, 390))
        store.create_run(a_run("cccc", parent=("aaaa", 4)), a_case())
        write_short_turns(store, "cccc", 4, LONG, unlike=tuple(range(4, LONG + 1)))
    return path


def test_of_long_runs_few_turns_are_read(long_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    documents = differences.turn_documents

    def noted(store: SqlStore, run: str, first: int = 0, last: int | None = None) -> object:
        assert last is not None
        read.extend(range(first, last + 1))
        return documents(store, run, first, last)

    monkeypatch.setattr(differences, "turn_documents", noted)
    with SqlStore.open(long_runs) as store:
        alike = document_at(store, "diff/aaaa/bbbb")
        forked = document_at(store, "diff/aaaa/cccc")
    assert (alike["first_divergence"]["turn"], alike["differing"]) == (250, [250, 390])
    assert (forked["first_divergence"]["turn"], len(forked["differing"])) == (4, LONG - 3)
    assert len(read) < LONG / 10


def test_runs_of_which_one_is_behind_say_which_turns_the_other_has(long_runs: Path) -> None:
    with SqlStore.open(long_runs) as store:
        store.create_run(a_run("dddd", parent=("aaaa", 4)), a_case())
        document = document_at(store, "diff/aaaa/dddd")
    assert document["first_divergence"] == {"turn": 4, "only_in": "a", "differs": []}
    assert document["differing"] == [*range(4, LONG + 1)]


@pytest.mark.parametrize("of", ["x", "1,-2", "1,2;3", ",".join(map(str, range(100)))])
def test_what_is_no_list_of_turns_is_refused_in_a_sentence(long_runs: Path, of: str) -> None:
    with SqlStore.open(long_runs) as store, pytest.raises(SettingError, match="is no list of at most 60 numbers"):
        document_at(store, "diff/aaaa/bbbb/turns", {"of": of})
