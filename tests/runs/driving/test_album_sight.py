"""An album chat with a model that sees, opened from a folder as any other: pictures are units of their own."""

from pathlib import Path

import pytest
from support.tiny import save_tiny
from support.tiny_seeing import save_clip, save_seeing

from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.driver import drive_run
from tertulia.runs.planning.forking import plan_fork
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.starting import RunPlan, begin, plan_run
from tertulia.state.album import Exchange
from tertulia.state.errors import SettingError
from tertulia.state.records import TurnRecord
from tertulia.state.store import Store
from tertulia.storage.store import SqlStore
from tertulia.views.reading.comparing import compare

pytestmark = pytest.mark.full

SETTINGS = {"agents": 4, "max_turns": 2, "removal_factor": 0.5, "judge": "off", "max_utterance_tokens": 12}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A tiny LLaVA, and a tiny CLIP."""
    folder = tmp_path_factory.mktemp("models")
    return {"llava": str(save_seeing("llava", folder / "llava")), "clip": str(save_clip(folder / "clip"))}


def driven(store: SqlStore, plan: RunPlan, cache: Path) -> str:
    context = begin(store, plan, ModelAccess(cache=cache))
    drive_run(store, context, lambda event: None)
    return context.run


def picture_units(store: Store, record: TurnRecord) -> list[tuple[str, bool, float]]:
    assert record.scores is not None
    units = store.prompt(record.prompt or "").units
    return [(unit.id, unit.removable, record.scores[unit.id]) for unit in units if unit.picture is not None]


def test_a_model_that_sees_is_shown_the_picture_that_a_model_like_clip_finds(
    tmp_path: Path, folders: dict[str, str]
) -> None:
    plan = plan_run("villagers", RunRequest({**SETTINGS, "picture_model": folders["clip"]}, model=folders["llava"]))
    with SqlStore.open(tmp_path / "store.db", create=True) as store:
        run = driven(store, plan, tmp_path)
        exchanges = store.steps(run, "exchange", Exchange)
        assert {exchange.sight for exchange in exchanges.values()} == {"seen"}
        assert all(-1 <= (exchange.similarity or 0) <= 1 for exchange in exchanges.values())
        for turn in store.turns(run):
            parts = store.parts(run, turn.turn)
            assert picture_units(store, parts["plan"]) == []
            for record in (store.turn_record(run, turn.turn), parts["answer"]):
                ((id, removable, score),) = picture_units(store, record)
                assert (id, removable) == ("picture.image", False)
                assert score > 0
                assert record.scored_by == folders["llava"]
        fork = driven(store, plan_fork(store, store.run(run), 2), tmp_path)
        assert compare(store, run, fork).is_same


def test_captions_are_read_where_that_is_asked_for(tmp_path: Path, folders: dict[str, str]) -> None:
    plan = plan_run("villagers", RunRequest({**SETTINGS, "max_turns": 1, "sight": "captions"}, model=folders["llava"]))
    with SqlStore.open(tmp_path / "store.db", create=True) as store:
        run = driven(store, plan, tmp_path)
        assert {met.sight for met in store.steps(run, "exchange", Exchange).values()} == {"captioned, not seen"}
        assert picture_units(store, store.turn_record(run, 1)) == []


def test_a_model_that_reads_text_alone_is_not_asked_to_see(tmp_path: Path) -> None:
    tiny = str(save_tiny(tmp_path / "tiny"))
    plan = plan_run("villagers", RunRequest({**SETTINGS, "removal_factor": 0, "sight": "pictures"}, model=tiny))
    with (
        SqlStore.open(tmp_path / "store.db", create=True) as store,
        pytest.raises(SettingError, match="sight=pictures needs a model that sees pictures"),
    ):
        begin(store, plan, ModelAccess())
