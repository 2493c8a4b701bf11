"""Scores by actors of Ray: digit for digit those of the same model here, also where an actor dies."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from support.on_use import on_use
from support.tiny import tiny_language_model

from tertulia.models.loading import open_model
from tertulia.models.ray_scoring import RayScorers, open_scorers
from tertulia.prompts.render import render
from tertulia.state.errors import ModelError
from tertulia.state.language_model import GenerationRequest, LanguageModel, RenderedPrompt, ReplyField, ScoringOptions
from tertulia.state.records import Prompt, Unit

pytestmark = pytest.mark.full

torch = on_use("torch")

ray = on_use("ray")
TESTS = Path(__file__).parents[1]

PROMPT = Prompt(
    units=tuple(Unit(id=f"m.{i}", block="memory", kind="item", text=f"Memory {i} of the ferry.") for i in range(4)),
    speaker="Ana",
    layout="single_message",
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Ray on this machine, whose workers find the tests' helpers."""
    pytest.importorskip("ray", reason="Ray is not installed; install it with: pip install 'tertulia[ray]'")
    with pytest.MonkeyPatch.context() as patch:  # of Ray too, so that its first workers are those of the actors
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, (TESTS.parent, TESTS))))
        ray.init(address="local", num_cpus=3, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


def asked(model: LanguageModel | RayScorers) -> tuple[RenderedPrompt, list[list[int]]]:
    return render(PROMPT, model.tokenizer), [model.tokenizer.encode(text) for text in ("I took it.", "Supper!")]


@pytest.mark.usefixtures("cluster")
async def test_scores_are_those_of_the_model_here_also_when_an_actor_dies() -> None:
    local, options = tiny_language_model(), ScoringOptions()
    expected = await local.score(*asked(local), options)
    scorers = open_scorers(tiny_language_model, 2, threads=torch.get_num_threads())
    assert (scorers.id, scorers.traits) == (local.id, local.traits)
    assert await asyncio.gather(*(scorers.score(*asked(scorers), options) for _ in range(6))) == [expected] * 6
    ray.kill(scorers._actors[0], no_restart=False)
    assert await asyncio.gather(*(scorers.score(*asked(scorers), options) for _ in range(6))) == [expected] * 6
    prompt, _ = asked(scorers)
    with pytest.raises(ModelError, match="no tokens"):
        await scorers.score(prompt, [[]], options)
    request = GenerationRequest(prompt, (ReplyField("Ana", "speech"),), (random.Random(1),), 1.0, 1.0)
    with pytest.raises(ModelError, match="nothing else"):
        await scorers.generate(request)


@pytest.mark.usefixtures("cluster")
def test_a_cluster_without_room_for_the_scorers_is_told_at_once() -> None:
    with pytest.raises(ModelError, match="free CPUs for 64 scorers; take fewer"):
        open_scorers(tiny_language_model, 64)


@pytest.mark.usefixtures("cluster")
def test_a_model_that_actors_can_t_open_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such folder") as raised:
        open_scorers(partial(open_model, "./nowhere", cache=tmp_path), 1)
    assert "\n" not in str(raised.value)
