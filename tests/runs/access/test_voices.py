"""What a run speaks with is noted, and it goes on with that: adapters by their content."""

from pathlib import Path

from support.adapters import save_adapters
from support.commands import Cli
from support.on_use import on_use
from support.tiny import save_tiny

from tertulia.models.local.adapters import WEIGHTS

safetensors = on_use("safetensors.torch")

NEIGHBOURS = str(Path(__file__).parents[3] / "benchmarks" / "campaigns" / "two_neighbours.yaml")
SHORT = ("--rounds", "2", "--lambda", "0", "--set", "ending=off", "--set", "max_utterance_tokens=12")


def test_a_run_notes_base_and_adapters_and_a_fork_needs_the_same(cli: Cli, tmp_path: Path) -> None:
    base = save_tiny(tmp_path / "base")
    folder = save_adapters(tmp_path / "voice", base)
    model = f"{base}+{folder}"
    run = cli("run", NEIGHBOURS, "--model", model, *SHORT, "--json").json["run"]
    shown = cli("show", run, "--json").json
    assert shown["model"] == model
    noted = shown["parameters"]["weights"][model]
    assert noted["adapters"] == str(folder)
    assert len(noted["base_hash"]) == len(noted["adapters_hash"]) == 32
    assert noted["base_hash"] != noted["adapters_hash"]
    assert cli("fork", run, "--at", "2", "--json").code == 0
    assert cli("diff", run, "@last", "--exit-code").code == 0
    matrices = safetensors.load_file(folder / WEIGHTS)
    safetensors.save_file({name: tensor + 1 for name, tensor in matrices.items()}, folder / WEIGHTS)
    cli("fork", run, "--at", "2").complains(1, "was started with the adapters", "put them back")
    (folder / WEIGHTS).unlink()
    cli("fork", run, "--at", "2").complains(1, "holds no adapters")
    assert cli("replay", run).code == 0, "what is stored needs no model"


def test_weights_are_noted_and_not_set(cli: Cli) -> None:
    cli("run", "tidewell", "--rehearse", "--set", "weights={}").complains(2, "unknown parameter 'weights'")
