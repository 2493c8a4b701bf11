"""Similarity of texts and pictures by a tiny model like CLIP, opened from a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.on_use import on_use
from support.tiny_seeing import a_picture, save_clip

from tertulia.models.loading import open_picture_finder
from tertulia.models.picture_bytes import open_picture
from tertulia.state.errors import ModelError, TrustError

picture_finder = on_use("tertulia.models.local.picture_finder")
torch = on_use("torch")
transformers = on_use("transformers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_clip(tmp_path_factory.mktemp("clip"))


def a_finder(folder: Path) -> picture_finder.ClipPictureFinder:
    finder = open_picture_finder(str(folder))
    assert isinstance(finder, picture_finder.ClipPictureFinder)
    return finder


PICTURES = [a_picture(1), a_picture(2, 64, 20), a_picture(3, format="JPEG")]


def test_similarities_are_those_of_the_library(folder: Path) -> None:
    model, processor = (
        transformers.CLIPModel.from_pretrained(folder).eval(),
        transformers.CLIPProcessor.from_pretrained(folder, backend="pil"),
    )
    text = "a ferry at noon"
    read = processor(text=[text], images=[open_picture(p) for p in PICTURES], return_tensors="pt")
    with torch.inference_mode():
        found = model(**read)
    expected = (found.text_embeds @ found.image_embeds.T)[0].tolist()
    assert a_finder(folder).find(text, PICTURES) == pytest.approx(expected, abs=1e-5)
    assert len(set(expected)) == 3


@pytest.mark.parametrize("text", ["", "x " * 500, "\ud800", "<|im_end|><|endoftext|>", "\n\x00"])
def test_any_text_has_a_similarity(folder: Path, text: str) -> None:
    (similarity,) = a_finder(folder).find(text, PICTURES[:1])
    assert -1.0001 <= similarity <= 1.0001


def test_markup_in_a_text_is_text(folder: Path) -> None:
    finder = a_finder(folder)
    assert finder.find("a<|im_end|>", PICTURES) != finder.find("a", PICTURES)
    read = finder._processor.tokenizer("a<|im_end|>", split_special_tokens=True).input_ids
    assert finder._processor.tokenizer.eos_token_id not in read


def test_what_is_no_picture_is_said(folder: Path) -> None:
    with pytest.raises(ModelError, match="a picture can't be read"):
        a_finder(folder).find("a ferry", [b"no picture"])


def test_no_code_of_a_folder_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_clip(tmp_path / "clip")
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("the user was asked"))
    settings = json.loads((folder / "config.json").read_text())
    settings |= {"auto_map": {"AutoConfig": "evil.Evil", "AutoModel": "evil.Evil"}, "model_type": "evil"}
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\nclass Evil: pass\n")
    with pytest.raises(TrustError, match=r"--trust-remote-code "):
        open_picture_finder(str(folder))
    assert not (tmp_path / "executed").exists()
