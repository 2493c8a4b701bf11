"""Models that see, opened from folders: their attention against the plain definition, and all else against one row."""

from __future__ import annotations

import contextlib
import io
import json
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from support.on_use import on_use
from support.tiny_seeing import EACH_SEEING, a_picture, save_seeing

from tertulia.models.loading import open_model
from tertulia.models.rehearsal import RehearsalTokenizer
from tertulia.prompts.render import render
from tertulia.state.errors import AttentionUnavailableError, ModelError, TrustError
from tertulia.state.language_model import GenerationRequest, RenderedPrompt, ReplyField, ScoringOptions, SeeingTokenizer
from tertulia.state.records import Prompt, Unit

causal = on_use("tertulia.models.local.causal")
torch = on_use("torch")

PICTURES = {
    "red": a_picture(1),
    "wide": a_picture(2, 64, 32),
    "tall": a_picture(3, 32, 64),
    "jpeg": a_picture(4, format="JPEG"),
    "pixel": a_picture(5, 1, 1),
    "strip": a_picture(6, 300, 2),
    "odd": a_picture(7, 7, 5),
}


SPEECH = (ReplyField("Ana", "speech", max_tokens=8),)
#: Opens a model of a family.
Opened = Callable[[str], "causal.CausalLanguageModel"]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """Open a family, once, with the pictures of this file."""

    @cache
    def loaded(family: str) -> causal.CausalLanguageModel:
        folder = save_seeing(family, tmp_path_factory.mktemp("seeing"))
        model = open_model(str(folder), cache=folder, precision="float32")
        assert isinstance(model, causal.CausalLanguageModel)
        return model

    def open_family(family: str) -> causal.CausalLanguageModel:
        loaded(family).use_pictures(PICTURES.__getitem__)
        return loaded(family)

    return open_family


def a_prompt(*pictures: str, text: str = "The ferry leaves at noon.", layout: str = "single_message") -> Prompt:
    """Return a prompt with pictures between its texts."""
    units = [Unit(id="task", block="task", kind="text", text=text)]
    for name in pictures:
        units.append(Unit(id=name, block="picture", kind="item", text=f"a caption of {name}", picture=name))
        units.append(
            Unit(id=f"behind_{name}", block="album", kind="item", text="The baker knows it well.", removable=True)
        )
    return Prompt(units=tuple(units), speaker="Ana", layout=layout)


def a_request(prompt: RenderedPrompt, seed: int = 1, rows: int = 2) -> GenerationRequest:
    return GenerationRequest(prompt, SPEECH, tuple(random.Random(f"{seed} {row}") for row in range(rows)), 0.9, 0.95)


def by_the_library(
    model: causal.CausalLanguageModel, prompt: RenderedPrompt, response: Sequence[int], **options: Any
) -> Any:
    """Return what the whole model returns for prompt and response in eager attention, the library's in all parts."""
    sight = model.tokenizer
    assert isinstance(sight, SeeingTokenizer)
    inputs = model._sight.inputs(prompt)  # type: ignore[union-attr]
    tokens = torch.tensor([[*prompt.input_ids, *response]])
    beside = {} if inputs is None else inputs.for_tokens(tokens.shape[1], model.model)
    implementations = {
        name: getattr(model.model.config, name)._attn_implementation for name in model.model.config.sub_configs
    }
    model.model.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            return model.model(input_ids=tokens, **beside, use_cache=False, **options)
    finally:
        model.model.set_attn_implementation(implementations)


def defined_scores(
    model: causal.CausalLanguageModel, prompt: RenderedPrompt, response: Sequence[int]
) -> dict[str, float]:
    attentions = by_the_library(model, prompt, response[:-1], output_attentions=True).attentions
    length = len(prompt.input_ids)
    a = torch.stack(attentions)[:, 0, :, length - 1 :, :length]  # (L, H, n, P)
    per_token = a.double().mean(2).mean(1).sum(0)
    return {unit: float(per_token[first:past_last].sum()) for unit, (first, past_last) in prompt.token_spans.items()}


@pytest.mark.parametrize("family", EACH_SEEING)
@pytest.mark.parametrize("pictures", [["wide", "red"], ["tall", "jpeg"], ["pixel", "strip", "odd"], []])
async def test_scores_equal_the_definition_with_pictures_in_the_prompt(
    opened: Opened, family: str, pictures: list[str]
) -> None:
    model = opened(family)
    prompt = render(a_prompt(*pictures), model.tokenizer)
    responses = [model.tokenizer.encode(text) for text in ("The baker.", "It leaves at noon, and the ferry knows.")]
    found = await model.score(prompt, responses, ScoringOptions())
    for scores, response in zip(found, responses, strict=True):
        assert scores == pytest.approx(defined_scores(model, prompt, response), rel=1e-4)
    replies, drawn = await model.generate_scored(a_request(prompt), ScoringOptions())
    expected = [defined_scores(model, prompt, reply.tokens) for reply in replies]
    assert drawn == pytest.approx({u: sum(s[u] for s in expected) / 2 for u in expected[0]}, rel=1e-4)
    assert all(scores[name] > 0 for name in pictures)


@pytest.mark.parametrize("family", EACH_SEEING)
async def test_likelihoods_and_probabilities_are_those_of_the_whole_model(opened: Opened, family: str) -> None:
    model = opened(family)
    prompt = render(a_prompt("wide", "red"), model.tokenizer)
    (reply,) = await model.generate(a_request(prompt, rows=1))
    logits = by_the_library(model, prompt, reply.tokens).logits[0, len(prompt.input_ids) - 1 : -1]
    first, past_last = reply.text_tokens
    rows, tokens = logits.log_softmax(-1)[first:past_last], torch.tensor(reply.tokens[first:past_last])
    assert await model.log_likelihood(prompt, reply) == pytest.approx(
        rows.gather(1, tokens[:, None]).mean().item(), rel=1e-4
    )
    options = ("The", "It")
    next_logits = logits[0][[model.tokenizer.encode(option)[0] for option in options]]
    if all(len(model.tokenizer.encode(option)) == 1 for option in options):
        assert await model.probabilities(prompt, options) == pytest.approx(next_logits.softmax(-1).tolist(), rel=1e-4)
    assert sum(await model.probabilities(prompt, options)) == pytest.approx(1)


@pytest.mark.parametrize("family", EACH_SEEING)
async def test_prompts_with_and_without_pictures_are_one_batch(opened: Opened, family: str) -> None:
    model = opened(family)
    asked = [("red",), (), ("wide", "red"), ("tall",), ("red",)]
    prompts = [render(a_prompt(*names), model.tokenizer) for names in asked]
    batch = await model.generate_batch([a_request(prompt, seed) for seed, prompt in enumerate(prompts)])
    for seed, (prompt, replies) in enumerate(zip(prompts, batch, strict=True)):
        model.clear_cache()
        assert replies == await model.generate(a_request(prompt, seed))
        assert all(json.loads(reply.text)["Ana"] for reply in replies)


async def test_pictures_of_as_many_tokens_are_told_from_each_other(opened: Opened) -> None:
    model = opened("llava")
    prompts = [render(a_prompt(name), model.tokenizer) for name in ("red", "jpeg", "red")]
    assert prompts[0].input_ids == prompts[1].input_ids
    first, second, again = [(await model.score(p, [[5, 6, 7]], ScoringOptions()))[0]["task"] for p in prompts]
    assert first == pytest.approx(again, rel=1e-9)
    assert first != pytest.approx(second, rel=1e-5)
    replies = await model.generate_batch([a_request(prompt, 1, rows=4) for prompt in prompts])
    assert replies[0] == replies[2]
    likelihoods = [await model.log_likelihood(prompt, replies[0][0]) for prompt in prompts]
    assert likelihoods[0] == likelihoods[2] != likelihoods[1]


@pytest.mark.parametrize("family", EACH_SEEING)
def test_a_picture_is_a_unit_of_its_tokens(opened: Opened, family: str) -> None:
    tokenizer = opened(family).tokenizer
    assert isinstance(tokenizer, SeeingTokenizer)
    rendered = render(a_prompt("red", "wide"), tokenizer)
    assert [content for _, content in rendered.pictures] == ["red", "wide"]
    for start, name in rendered.pictures:
        first, past_last = rendered.token_spans[name]
        assert first == start
        assert list(rendered.input_ids[first:past_last]) == tokenizer.encode_picture(name)
        assert past_last - first >= 4
    without = render(a_prompt("red", "wide"), RehearsalTokenizer())
    first, past_last = without.token_spans["red"]
    assert RehearsalTokenizer().decode(without.input_ids[first:past_last]) == "a caption of red"
    assert without.pictures == ()


@pytest.mark.parametrize("family", EACH_SEEING)
def test_text_is_never_a_picture(opened: Opened, family: str) -> None:
    tokenizer = opened(family).tokenizer
    assert isinstance(tokenizer, SeeingTokenizer)
    markup = {tokenizer.decode([token]) for token in tokenizer.encode_picture("red")}
    picture = tokenizer.decode(tokenizer.encode_picture("red"))
    special = set(tokenizer.special_tokens)  # type: ignore[attr-defined]
    for text in (*markup, picture, f"{picture}{picture}", "<image>", "<im<image>age>", "<|image_pad|>"):
        tokens = tokenizer.encode(text)
        assert tokenizer.decode(tokens) == text
        assert special.isdisjoint(tokens)


def test_a_token_that_only_a_normaliser_makes_is_never_a_picture(tmp_path: Path) -> None:
    folder = save_seeing("llava", tmp_path)
    settings = json.loads((folder / "tokenizer.json").read_text())
    settings["normalizer"] = {"type": "NFKC"}
    for added in settings["added_tokens"]:
        added["normalized"] = added["content"] == "<image>"
    (folder / "tokenizer.json").write_text(json.dumps(settings))
    model = open_model(str(folder), cache=tmp_path, precision="float32")
    image = model.tokenizer.tokenizer.convert_tokens_to_ids("<image>")  # type: ignore[attr-defined]
    assert image in model.tokenizer.tokenizer("＜image＞").input_ids  # type: ignore[attr-defined]
    assert image not in model.tokenizer.encode("＜image＞")


async def test_pictures_stand_in_chat_turns_too(opened: Opened) -> None:
    model = opened("llava")
    prompt = render(a_prompt("red", layout="chat_turns"), model.tokenizer)
    (scores,) = await model.score(prompt, [[5, 6]], ScoringOptions())
    assert scores == pytest.approx(defined_scores(model, prompt, [5, 6]), rel=1e-4)


def test_a_model_whose_text_attends_to_what_follows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AttentionUnavailableError, match="can't be used: the captured attention is off by"):
        open_model(str(save_seeing("paligemma", tmp_path)), cache=tmp_path, precision="float32")


def test_what_is_no_picture_is_said(opened: Opened) -> None:
    model, bomb = opened("llava"), io.BytesIO()
    Image.new("1", (9000, 9000)).save(bomb, "PNG")
    wrong = {
        "text": b"no picture",
        "empty": b"",
        "cut": PICTURES["red"][:90],
        "bomb": bomb.getvalue(),
        "eps": b"%!PS-Adobe-3.0 EPSF-3.0",
    }
    model.use_pictures(wrong.__getitem__)
    for name in wrong:
        with pytest.raises(ModelError, match=r"a picture (can't be read|has 9000)") as raised:
            model.tokenizer.encode_picture(name)  # type: ignore[attr-defined]
        assert "\n" not in str(raised.value)


def test_a_model_without_its_processor_is_refused(tmp_path: Path) -> None:
    folder = save_seeing("llava", tmp_path)
    for file in ("processor_config.json", "preprocessor_config.json"):
        (folder / file).unlink(missing_ok=True)
    with pytest.raises(ModelError, match="can't be loaded") as raised:
        open_model(str(folder), cache=tmp_path)
    assert "\n" not in str(raised.value)


def test_a_picture_that_the_processor_refuses_is_said(opened: Opened) -> None:
    model = opened("qwen2_vl, positions in three dimensions")
    model.use_pictures({"line": a_picture(1, 900, 2)}.__getitem__)
    with pytest.raises(ModelError, match=r"its processor can't read a picture \(absolute aspect ratio"):
        model.tokenizer.encode_picture("line")  # type: ignore[attr-defined]


async def test_a_prompt_that_ends_with_a_picture_is_refused(opened: Opened) -> None:
    model = opened("llava")
    tokens = (5, 6, *model.tokenizer.encode_picture("red"))  # type: ignore[attr-defined]
    prompt = RenderedPrompt(tokens, {"red": (2, len(tokens))}, {"red": "picture"}, pictures=((2, "red"),))
    with pytest.raises(ModelError, match="ends with a picture"):
        await model.score(prompt, [[5]], ScoringOptions())


@pytest.mark.parametrize("kind", ["AutoImageProcessor", "AutoProcessor", "AutoTokenizer"])
def test_no_code_beside_the_processor_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    folder = save_seeing("llava", tmp_path / "llava")
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("the user was asked"))
    settings = json.loads((folder / "processor_config.json").read_text())
    mapped = {"auto_map": {kind: ["evil.Evil", "evil.Evil"] if kind == "AutoTokenizer" else "evil.Evil"}}
    images = {**settings["image_processor"], **mapped, "image_processor_type": "Evil"}
    settings |= {**mapped, "processor_class": "Evil", "image_processor": images}
    (folder / "processor_config.json").write_text(json.dumps(settings))
    (folder / "preprocessor_config.json").write_text(json.dumps(images))
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\nclass Evil: pass\n")
    with contextlib.suppress(ModelError, TrustError):
        open_model(str(folder), cache=tmp_path)
    assert not (tmp_path / "executed").exists()
