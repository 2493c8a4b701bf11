"""Real servers with the embedded weights (`make servers`): they draw as recorded, converse, and are scored."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import real_servers
from support.chat_case import a_request
from support.commands import Cli
from support.on_use import on_use

from tertulia.cli.environment import cache_folder
from tertulia.models.local import embedded
from tertulia.models.served.chat import open_chat_model
from tertulia.models.served.refusals import FIELDS, WHOLE
from tertulia.models.served.server_client import ServerClient
from tertulia.models.served.servers import Server
from tertulia.state.errors import ModelError
from tertulia.state.parameters import Parameters

decoding = on_use("tertulia.models.local.decoding")
served_weights = on_use("support.served_weights")
torch = on_use("torch")
transformers = on_use("transformers")

pytestmark = [pytest.mark.slow, pytest.mark.full]

MESSAGES = [("system", "You are Ines, a baker."), ("user", "A friend says: Good morning! What do you say?")]
#: Temperature, top-p and min-p; the last two differ where a server cuts before it applies the temperature.
SETTINGS = [(0.5, 1.0, 0.0), (0.8, 1.0, 0.0), (1.0, 1.0, 0.0), (1.6, 0.7, 0.0), (1.6, 1.0, 0.1)]
_POINTS = 600

DUO = """
name: duo
time: 2026-05-06 07:00
place: the bakery
description: Ines and Joao open the bakery on the morning of the fair.
participants:
  - {name: Ines, background: Ines bakes bread., memories: ["The oven was cold at five."]}
  - {name: Joao, background: Joao fishes and is her cousin., memories: ["The nets were full."]}
"""
TRIO = """
kind: group_chat
name: trio
time: 2026-05-06 07:00
description: Ines, Joao and Rui have to say who bakes for the fair.
opening: {speaker: Ines, text: "Who bakes for the fair?"}
participants:
  - {name: Ines, character: talkative, descriptions: [Ines asks much.]}
  - {name: Joao, character: gruff, descriptions: [Joao says little.]}
  - {name: Rui, character: kind, descriptions: [Rui offers help.]}
"""
SETTING = ("temperature=0.7", "layout=chat_turns", "max_reply_tokens=80", "ending=off", "max_turns=4")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model, in which `model.gguf` is the same for llama.cpp."""
    if not real_servers.are_installed():
        pytest.skip(real_servers.NOT_INSTALLED)
    folder = tmp_path_factory.mktemp("weights") / "embedded"
    served_weights.save_folder(embedded.folder(cache_folder()), folder)
    served_weights.save_gguf(folder, folder / "model.gguf")
    return folder


@pytest.fixture(scope="module")
def llama(weights: Path) -> Iterator[str]:
    with real_servers.llama_cpp(weights / "model.gguf") as address:
        yield address


@pytest.fixture(scope="module")
def serve(weights: Path) -> Iterator[str]:
    with real_servers.transformers_serve(weights) as address:
        yield address


@pytest.fixture(scope="module")
def here(weights: Path) -> Any:
    """By a setting, the first tokens that the model here draws."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(weights)
    model = transformers.LlamaForCausalLM.from_pretrained(weights, dtype=torch.float32).eval()
    asked = [{"role": role, "content": content} for role, content in MESSAGES]
    prompt = tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)
    with torch.no_grad():
        logits = model(**tokenizer(prompt, return_tensors="pt")).logits[0, -1]

    def drawn(setting: tuple[float, float, float]) -> list[str]:
        """The texts of evenly spaced numbers, so that each is there as often as it is likely."""
        tokens = [decoding.draw_token(logits, (place + 0.5) / _POINTS, *setting) for place in range(_POINTS)]
        return [shown(str(tokenizer.decode([token]))) for token in tokens]

    return drawn


def shown(text: str) -> str:
    """A token's text, without a part of a character."""
    return text.replace("\N{REPLACEMENT CHARACTER}", "")


def entropy(drawn: Counter[str]) -> float:
    """The entropy of the drawn texts, in nats."""
    shares = [count / drawn.total() for count in drawn.values()]
    return -sum(share * math.log(share) for share in shares)


async def compare(client: ServerClient, server: Server, here: Any, draws: int) -> None:
    """Assert that a server's entropies rise with the temperature, and that each is one of so many draws here."""
    told = []
    for setting in SETTINGS:
        temperature, top_p, min_p = setting
        request = replace(a_request(), temperature=temperature, top_p=top_p, min_p=min_p)
        there: Counter[str] = Counter()
        for seed in range(draws):
            answer = await client.answer(server, MESSAGES, None, client.sampling(server, request, seed))
            there[shown(answer.text)] += 1
        generator, points = random.Random(1), here(setting)
        likely = [entropy(Counter(generator.choices(points, k=draws))) for _ in range(1000)]
        print(f"{setting}: {entropy(there):.3f} there, {min(likely):.3f} to {max(likely):.3f} here")
        assert min(likely) <= entropy(there) <= max(likely), setting
        told.append(entropy(there))
    assert told[:3] == sorted(told[:3])


async def test_llama_cpp_draws_as_recorded(llama: str, here: Any) -> None:
    await compare(ServerClient("embedded", 1), Server(llama), here, 100)


async def test_transformers_serve_draws_as_recorded(serve: str, weights: Path, here: Any) -> None:
    server = Server(serve)
    server.refused |= {FIELDS, "stream_options", "max_completion_tokens"}
    await compare(ServerClient(str(weights), 1), server, here, 30)


async def test_transformers_serve_says_that_it_takes_no_sampling(serve: str, weights: Path) -> None:
    told: list[str] = []
    model = open_chat_model(
        f"{serve}#{weights}", Parameters(max_reply_tokens=40), None, lambda activity: told.append(activity.text)
    )
    with suppress(ModelError):  # it passes over the schema: whether a reply has its form is the model's chance
        await model.generate(a_request("You are Ana. Say hello to Bo, your cousin."))
    assert any("generation_config" in line for line in told)
    assert not model.tells_likelihoods()


async def test_llama_cpp_streams_what_it_answers(llama: str) -> None:
    client = ServerClient("embedded", 24)
    answers = []
    for refused in ((), (WHOLE,)):
        server = Server(llama)
        server.refused |= {*refused}
        sampling = {**client.sampling(server, a_request(), 3), "cache_prompt": False}
        answers.append(await client.answer(server, MESSAGES, None, sampling))
    assert answers[0].text
    assert answers[0] == answers[1]


@pytest.mark.usefixtures("without_weights")
def test_a_dialogue_is_stopped_resumed_and_scored_by_a_surrogate(cli: Cli, llama: str, tmp_path: Path) -> None:
    (tmp_path / "duo.yaml").write_text(DUO, encoding="utf-8")
    settings = [word for setting in (*SETTING, "surrogate=smollm2", "backups=on_demand") for word in ("--set", setting)]
    command = ("run", "duo.yaml", "--model", f"{llama}#embedded", "--lambda", "0.5", *settings)
    stopped = cli(*command, "--max-calls", "2", "--json")
    assert stopped.code == 130
    run = json.loads(stopped.out)["run"]
    assert len(cli("show", run, "--json").json["turns"]) < 4
    resumed = cli("resume", run, "--json")
    assert resumed.code == 0, resumed
    shown = cli("show", run, "--json").json
    assert {turn["speaker"] for turn in shown["turns"]} == {"Ines", "Joao"}
    assert f"smollm2 (surrogate of {llama}#embedded)" in cli("show", run, "--turn", "1", "--json").out
    assert all(turn["text"] and "<" not in turn["text"] for turn in shown["turns"])


@pytest.mark.usefixtures("without_weights")
def test_a_meeting_thinks_and_speaks(cli: Cli, llama: str, tmp_path: Path) -> None:
    (tmp_path / "trio.yaml").write_text(TRIO, encoding="utf-8")
    settings = [word for setting in ("temperature=0.7", "max_reply_tokens=200") for word in ("--set", setting)]
    command = ("run", "trio.yaml", "--model", f"{llama}#embedded", "--lambda", "0", "--rounds", "1", *settings)
    met = cli(*command, "--json")
    assert met.code == 0, met
    shown = cli("show", met.json["run"], "--json").json
    assert [turn["round"] for turn in shown["turns"]] == [1]
    told = cli("show", met.json["run"], "--turn", "1", "--json").json
    assert {agent["agent"] for agent in told["cognition"]} == {"Ines", "Joao", "Rui"}
    assert any(agent["thought"] for agent in told["cognition"])


@pytest.mark.usefixtures("without_weights")
def test_a_likelihood_that_no_server_tells_is_refused_before_the_first_call(cli: Cli, llama: str) -> None:
    refused = cli("run", "tidewell", "--model", f"{llama}#embedded", "--lambda", "0", "--set", "judge=likelihood")
    refused.complains(2, "judge=rating")
