"""Where a run was computed is stored with it, and said where it goes on somewhere else."""

from types import SimpleNamespace

import pytest
from support.commands import Cli

from tertulia.models.local.platforms import platform_of
from tertulia.models.rehearsal import RehearsalEmbedder, RehearsalModel
from tertulia.state.errors import ModelError
from tertulia.state.language_model import GenerationRequest
from tertulia.state.records import Platform, Reply

HERE = Platform(device="cpu", precision="float32", threads=2, processor="AVX2", versions={"torch": "2.13.0"})


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Where runs are computed, by its `platform`."""
    place = SimpleNamespace(platform=HERE)
    monkeypatch.setattr("tertulia.runs.driving.platforms.platform_of", lambda models, embedder: place.platform)
    return place


def test_what_differs_is_said_in_words() -> None:
    there = HERE.model_copy(update={"threads": 1, "versions": {"torch": "2.14.0"}})
    assert there.differences(HERE) == ["1 thread instead of 2", "torch 2.14.0 instead of 2.13.0"]
    gpu = HERE.model_copy(update={"device": "cuda", "processor": "H100", "threads": None})
    assert gpu.differences(HERE) == ["device cuda instead of cpu", "processor H100 instead of AVX2"]
    assert HERE.differences(HERE) == []


def test_a_run_notes_where_it_goes_on(cli: Cli, here: SimpleNamespace) -> None:
    cli("run", "tidewell", "--rehearse", "--rounds", "2")
    run = cli("show", "@last", "--json").json
    assert run["platforms"] == [{"round": 0, **HERE.model_dump(mode="json")}]
    cli("fork", "@last", "--at", "2")
    assert cli("show", "@last", "--json").json["platforms"] == run["platforms"]
    here.platform = HERE.model_copy(update={"threads": 1})
    forked = cli("fork", "@last", "--at", "2")
    assert "goes on with 1 thread instead of 2: the same conversation is not certain" in forked.err
    rounds = [(found["round"], found["threads"]) for found in cli("show", "@last", "--json").json["platforms"]]
    assert rounds == [(0, 2), (2, 1)]


def test_an_embedder_beside_a_model_of_a_server_computes_here() -> None:
    embedder = SimpleNamespace(computation="numpy 2")
    found = platform_of([RehearsalModel()], embedder)  # type: ignore[arg-type]
    assert found is not None
    assert (found.device, found.precision, found.threads, found.embedder) == ("cpu", "float32", 1, "numpy 2")
    assert platform_of([RehearsalModel()], RehearsalEmbedder()) is None


class _Failing(RehearsalModel):
    """The stand-in, which fails at its third utterance."""

    asked = 0

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        self.asked += 1
        if self.asked > 2:
            raise ModelError("the model failed")
        return await super().generate(request)


@pytest.mark.parametrize(("before", "opened"), [("float32", "float32"), ("bfloat16", "auto"), (None, "auto")])
def test_a_run_that_was_computed_in_float32_goes_on_in_it(
    cli: Cli, here: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, before: str | None, opened: str
) -> None:
    here.platform = None if before is None else HERE.model_copy(update={"precision": before})
    monkeypatch.setattr("tertulia.models.loading.open_model", lambda *_, **__: _Failing())
    cli("run", "tidewell", "--rehearse", "--rounds", "5").complains(1, "the model failed")
    asked = []

    def open_rehearsal(name: str, **options: object) -> RehearsalModel:
        asked.append(options["precision"])
        return RehearsalModel()

    monkeypatch.setattr("tertulia.models.loading.open_model", open_rehearsal)
    cli("resume", "@last", "--json")
    assert asked == [opened]
