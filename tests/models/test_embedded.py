"""The embedded model and embedder: exact scores, quick loading, a turn on the shipped town from end to end."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from support.commands import Cli
from support.on_use import on_use

from tertulia.cli.environment import cache_folder
from tertulia.cli.main import main
from tertulia.models.loading import open_embedder, open_model
from tertulia.models.local import embedded
from tertulia.models.local.adapters import merge_adapters, read_adapters
from tertulia.models.local.embedder import SentenceEmbedder
from tertulia.prompts.render import render
from tertulia.state.language_model import ScoringOptions
from tertulia.state.preparing import prepare
from tertulia.state.records import Prompt, Unit
from tertulia.worlds.catalog import SHIPPED, TOWNS

attention_scores = on_use("tertulia.models.local.attention_scores")
torch = on_use("torch")
transformers = on_use("transformers")

pytestmark = [pytest.mark.slow, pytest.mark.full]


@pytest.fixture(scope="module")
def model():
    return open_model("smollm2", cache=cache_folder(), precision="float32")


@pytest.fixture(scope="module")
def by_transformers():
    """The same weights with transformers' modules, which have the definition."""
    loaded = transformers.AutoModelForCausalLM.from_pretrained(
        embedded.folder(cache_folder()), dtype=torch.float32
    ).eval()
    merge_adapters(loaded, read_adapters(embedded.VOICE))
    return loaded


async def test_scores_equal_the_definition(model, by_transformers) -> None:
    texts = ["You keep the tide book.", *(f"- Boat {n} left at {n} o'clock. 🦆" for n in range(1, 12)), "What now?"]
    units = tuple(Unit(id=f"u{i}", block="memory", kind="item", text=text) for i, text in enumerate(texts))
    prompt = render(Prompt(units=units, speaker="", layout="single_message"), model.tokenizer)
    responses = [model.tokenizer.encode(text) for text in ("Boat 3 is late again.", "Let us wait for the tide, then.")]
    found = await model.score(prompt, responses, ScoringOptions())
    for response, scores in zip(responses, found, strict=True):
        expected = attention_scores.unit_scores(
            attention_scores.attention_by_definition(by_transformers, prompt.input_ids, response),
            prompt,
            ScoringOptions(),
        )
        assert scores == pytest.approx(expected, rel=1e-4)


def test_texts_that_several_ask_for_at_the_same_moment_are_embedded_in_one_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedder = SentenceEmbedder.open("minilm")
    texts = [f"Boat {number} is late." for number in range(6)]
    together, vectors = list[list[str]](), embedder._model.vectors
    monkeypatch.setattr(embedder._model, "vectors", lambda texts: together.append(texts) or vectors(texts))

    async def all_ask() -> None:
        await asyncio.gather(*(prepare(embedder, [texts[0], text]) for text in texts))

    asyncio.run(all_ask())
    assert together == [texts]
    assert embedder.embed(texts) == open_embedder("minilm").embed(texts)
    asyncio.run(all_ask())
    assert together == [texts]


@pytest.mark.usefixtures("model")
def test_a_turn_of_the_shipped_town_from_end_to_end_does_not_convert_again(monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.setattr(embedded, "_convert", lambda *_: pytest.fail("converted a second time"))

    def run(*arguments: str) -> dict:
        monkeypatch.setattr("sys.argv", ["tertulia", *arguments, "--store", str(tmp_path / "p.db"), "--json"])
        with pytest.raises(SystemExit) as exit:
            main()
        assert exit.value.code == 0
        return json.loads(capsys.readouterr().out.splitlines()[-1])

    done = run("run", "tidewell", "--lambda", "0.5", "--rounds", "1")
    assert done["status"] == "finished"
    assert done["turns"] == 1
    turn = run("show", done["run"], "--turn", "1")
    removable = [unit for unit in turn["units"] if unit["removable"]]
    share = sum(unit["score"] for unit in removable if unit["removed"]) / sum(unit["score"] for unit in removable)
    assert 0.3 < share <= 0.5 + 1e-9
    assert re.fullmatch("smollm2, learned heads [0-9a-f]{8}", turn["scored_by"])
    assert [candidate["chosen"] for candidate in turn["candidates"]].count(True) == 1
    assert turn["text"] in [candidate["text"] for candidate in turn["candidates"]]


@pytest.mark.parametrize("name", [name for name in SHIPPED if name not in TOWNS])
def test_every_shipped_scenario_begins_with_the_embedded_model(name: str, cli: Cli) -> None:
    done = cli("run", name, "--lambda", "0", "--rounds", "1", "--json").json
    assert (done["status"], done["ended_by"]) == ("finished", "rounds")
