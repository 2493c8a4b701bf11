"""The embedded model without transformers: the same digits to the bit, a check that is kept, what it leaves alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.adapters import save_adapters
from support.on_use import on_use
from support.tiny import drawn_tokens, save_tied

from tertulia.cli.environment import cache_folder
from tertulia.models import loading
from tertulia.models.loading import open_model
from tertulia.models.local import embedded
from tertulia.models.local.adapters import merge_adapters, read_adapters
from tertulia.models.local.bare_tokenizer import BareTokenizer
from tertulia.models.local.tokenizer import HuggingFaceTokenizer
from tertulia.state.errors import AttentionUnavailableError, ModelError

architecture = on_use("tertulia.models.local.architecture")
bare_model = on_use("tertulia.models.local.bare_model")
bare_opening = on_use("tertulia.models.local.bare_opening")
altered_models = on_use("support.altered_models")
causal = on_use("tertulia.models.local.causal")
decoding_state = on_use("tertulia.models.local.decoding_state")
lean_llama = on_use("tertulia.models.local.lean_llama")
lean_parts = on_use("tertulia.models.local.lean_parts")
packed_linear = on_use("tertulia.models.local.packed_linear")
safetensors = on_use("safetensors.torch")
torch = on_use("torch")
nn = on_use("torch.nn")
transformers = on_use("transformers")

ROOT = Path(__file__).parents[2]

WAYS = ["float32", "bfloat16", "half"]


@pytest.fixture(autouse=True)
def packed(request: pytest.FixtureRequest) -> None:
    """Skip tests of weights that are not packed on this processor."""
    asked = getattr(request.node, "callspec", None)
    needs_half = asked is not None and "half" in asked.params.values()
    if not packed_linear.pack_linear_layers(nn.Sequential(nn.Linear(8, 8))) or (
        needs_half and not packed_linear.computes_with_half_weights()
    ):
        pytest.skip("no packed weights here")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny model in the place of the embedded one, as its conversion writes it."""
    made = save_tied(tmp_path / "tiny")
    monkeypatch.setattr(embedded, "folder", lambda *_: made)
    return made


def opened(tmp_path: Path, name: str = embedded.PLAIN, **options: Any) -> causal.CausalLanguageModel:
    model = open_model(name, cache=tmp_path, precision="float32", **options)
    assert isinstance(model, causal.CausalLanguageModel)
    return model


def digits(model: Any, count: int) -> list[torch.Tensor]:
    """What a model computes of two prompts with a beginning in common, and rows that advance unevenly."""
    found = []
    for prompts in ([drawn_tokens(150, 1)], [drawn_tokens(150, 1), drawn_tokens(40, 2)]):
        state = decoding_state.DecodingState(
            model, [decoding_state.prefill(model, prompt) for prompt in prompts], 2, 9, capture=True
        )
        rows = [[prompt[-1], *drawn_tokens(3 + row, row)] for prompt in prompts for row in range(2)]
        found += [*state.next_logits(rows), *state.read([[7], *([] for _ in rows[1:])])]
        assert state.captured_attention is not None
        found.append(state.captured_attention)
    assert sum(each.numel() for each in found) > count
    return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("has_adapters", [False, True])
def test_digits_are_those_of_the_model_that_transformers_opens(
    way: str, has_adapters: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, half = save_tied(tmp_path / "tiny"), way == "half"
    dtype = torch.bfloat16 if way == "bfloat16" else torch.float32
    adapters = read_adapters(save_adapters(tmp_path / "voice", base)) if has_adapters else None
    before = (base / "model.safetensors").read_bytes()
    expected = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=dtype).eval()
    if adapters is not None:
        merge_adapters(expected, adapters)
    if way == "bfloat16":
        monkeypatch.setattr("tertulia.models.local.bare_opening.PackedLinear", altered_models.Plain)
        monkeypatch.setattr("tertulia.models.local.bare_opening.packing_of", lambda *_, **__: altered_models.Plain)
        decoding_state.lean_passes[expected] = lean_llama.LeanLlama(lean_parts.parts_of(expected, altered_models.Plain))
    else:
        assert lean_parts.use_lean_passes(expected, half=half)
    read = bare_opening.read_bare(base, dtype, adapters, half=half)
    assert read is not None
    for one, other in zip(digits(read[0], 1000), digits(expected, 1000), strict=True):
        assert torch.equal(one, other)
    assert packed_linear.precision_of(read[0]) == packed_linear.precision_of(expected) == ("float16" if half else way)
    assert (base / "model.safetensors").read_bytes() == before
    for ask in (
        architecture.vocabulary_of,
        architecture.layers_of,
        architecture.token_bytes,
        architecture.has_positions_by_length,
    ):
        assert ask(read[0]) == ask(expected)


def tokens_of(tokenizer: HuggingFaceTokenizer) -> list[Any]:
    texts = ["Ferry, 12:30!", " two  spaces", "<|im_start|>system", "a\n\nb", "🦆 ñ\u200b", "\ud800", "", "<|im_end|>"]
    encoded = [tokenizer.encode(text) for text in texts]
    roles: list[Sequence[Any]] = [("user",), ("system", "user"), ("system", "user", "assistant", "user")]
    return [encoded, [tokenizer.decode(tokens) for tokens in encoded], *map(tokenizer.chat_markup, roles)]


def same_tokenizer(folder: Path) -> None:
    by_transformers, bare = transformers.AutoTokenizer.from_pretrained(folder), BareTokenizer(folder)
    assert tokens_of(HuggingFaceTokenizer(bare)) == tokens_of(HuggingFaceTokenizer(by_transformers))
    assert json.loads(by_transformers.backend_tokenizer.to_str()) == json.loads(bare.text)
    assert (bare.end, bare.get_added_vocab()) == (by_transformers.eos_token_id, by_transformers.get_added_vocab())


def test_tokens_and_markup_are_those_of_transformers(tmp_path: Path) -> None:
    same_tokenizer(save_tied(tmp_path / "tiny"))


def test_a_check_is_made_once_and_again_when_something_changes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, load = [], loading._load_causal
    monkeypatch.setattr(loading, "_load_causal", lambda *given: made.append(given) or load(*given))
    voice = save_adapters(tmp_path / "voice", folder)
    first, again = opened(tmp_path), opened(tmp_path)
    assert isinstance(first.model, bare_model.BareModel)
    assert first.traits == again.traits
    assert first.traits.layer_windows == (None,) * 4
    assert len(made) == 1
    with_voice = opened(tmp_path, f"{embedded.PLAIN}+{voice}")
    assert with_voice.weights is not None
    assert with_voice.weights.adapters == str(voice)
    opened(tmp_path, f"{embedded.PLAIN}+{voice}")
    assert len(made) == 2
    weights = safetensors.load_file(folder / "model.safetensors")
    safetensors.save_file(
        {name: tensor * 1.01 for name, tensor in weights.items()}, folder / "model.safetensors", {"format": "pt"}
    )
    opened(tmp_path)
    assert len(made) == 3
    for kept in folder.glob("exact-attention-*.json"):
        kept.write_text(kept.read_text()[:-9])
    opened(tmp_path)
    opened(tmp_path)
    assert len(made) == 4, "a damaged one is made again"


def test_a_model_that_is_read_otherwise_than_its_definition_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tertulia.models.local.bare_opening.Rotary", lambda size, base: bare_model.Rotary(size, base / 50)
    )
    for _ in range(2):
        with pytest.raises(AttentionUnavailableError, match=r"'smollm2:plain' can't be used: the captured"):
            opened(tmp_path)
    assert not list(folder.glob("exact-attention-*"))


def configured(folder: Path, **values: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: configured(folder, hidden_act="gelu"),
        lambda folder: configured(folder, rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}),
        lambda folder: (folder / "chat_template.jinja").unlink(),
    ],
)
def test_what_is_otherwise_is_opened_by_transformers(folder: Path, tmp_path: Path, change: Any) -> None:
    change(folder)
    assert not isinstance(opened(tmp_path).model, bare_model.BareModel)


def shortened(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: shortened(folder / "model.safetensors"),
        lambda folder: (folder / "model.safetensors").unlink(),
        lambda folder: shortened(folder / "tokenizer.json"),
        lambda folder: (folder / "config.json").unlink(),
        lambda folder: (folder / "config.json").write_text("[]"),
    ],
)
def test_damaged_files_are_refused_in_one_line_as_by_transformers(folder: Path, tmp_path: Path, spoil: Any) -> None:
    opened(tmp_path)
    spoil(folder)
    with pytest.raises(ModelError, match=r"can't be loaded|holds no model") as raised:
        opened(tmp_path)
    assert "\n" not in str(raised.value)


SPEAKING = """
import asyncio, random, sys
from pathlib import Path
from tertulia.models.loading import open_model
from tertulia.state.language_model import GenerationRequest, RenderedPrompt, ReplyField, ScoringOptions
model = open_model(sys.argv[1], cache=Path(sys.argv[2]))
tokens = tuple(model.tokenizer.encode("The ferry leaves at noon."))
prompt = RenderedPrompt(tokens, {"u": (1, 4)}, {"u": "memory"})
fields = (ReplyField("text", "speech", max_tokens=8),)
request = GenerationRequest(prompt, fields, (random.Random("1"),), 0.8, 0.9)
(reply,), scores = asyncio.run(model.generate_scored(request, ScoringOptions()))
asyncio.run(model.log_likelihood(prompt, reply))
asyncio.run(model.probabilities(prompt, [" yes", " no"]))
asyncio.run(model.head_attention(prompt, reply.tokens, (0, 1)))
from tertulia.models.local.platforms import platform_of
print(reply.text, scores, platform_of([model]).versions["transformers"])
heavy = {"transformers", "scipy", "torch._dynamo", "sentence_transformers", "huggingface_hub"} & set(sys.modules)
print(*sorted(heavy), sep=",")
"""


@pytest.mark.slow
def test_the_embedded_model_speaks_without_transformers() -> None:
    cache = cache_folder()
    open_model(embedded.ID, cache=cache)  # the first opening on a machine checks it
    command = [sys.executable, "-c", SPEAKING, embedded.ID, str(cache)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    line, heavy = done.stdout.splitlines()
    assert line.startswith('{"text": "')
    assert heavy == ""


@pytest.mark.slow
def test_the_embedded_tokenizer_is_that_of_transformers() -> None:
    same_tokenizer(embedded.folder(cache_folder()))
