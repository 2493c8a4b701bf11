"""all-MiniLM-L6-v2 in numpy: the encoder of BERT (Devlin et al. 2019, §3), and a mean (Reimers and Gurevych 2019, §3).

It knows nothing of texts that are kept, of names of embedders, and of PyTorch.

1. Words of a text become tokens, each with its number in the vocabulary.
2. x = LayerNorm(word + position + segment)
3. Six layers: x = LayerNorm(x + attention(x)), x = LayerNorm(x + W₂ gelu(W₁ x + b₁) + b₂)
4. The mean of x over the tokens, at unit length.

Shapes: T tokens, H = 12 heads, D = 384 values of a token, 4 D within a layer.
"""

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tertulia.models.local.joined_rows import TILES, rows_of_texts
from tertulia.models.local.one_thread import one_thread, products

Array = NDArray[np.float32]

#: Tokens that are read of a text, two of them special: the beginning and the end.
LIMIT = 256
_BEGINNING, _END = 101, 102
_LAYERS, _HEADS, _EPSILON = 6, 12, np.float32(1e-12)
#: Of the weights of a layer, the smallest first.
_SHAPES = ((384, 384), (384, 1152), (384, 1536), (1536, 384))
#: Rows of tokens whose GELU is computed at once: they stay in the processor's cache meanwhile.
_ROWS = 64


class MiniLM:
    """The model in a folder. The vector of a text depends on no other that is computed with it, to the last digit."""

    limit: int | None = LIMIT

    def __init__(self, folder: Path, rows: int | None = None) -> None:
        """Read the weights.

        Args:
            rows: Each text fills a multiple of so many rows, and several are computed together (`rows_to_fill`);
                `None`: each by itself, in as many rows as it has tokens.

        Raises:
            OSError: A file can't be read.
            ValueError: A file is not as expected.
        """
        self._rows, tensors = rows, _tensors(folder / "model.safetensors")
        try:
            self._words, self._positions, segments = (
                tensors[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")
            )
            self._segment, self._norm = segments[0].copy(), _Norm.of(tensors, "embeddings.LayerNorm")
            self._layers = [_Layer.of(tensors, f"encoder.layer.{number}") for number in range(_LAYERS)]
        except KeyError as error:
            raise ValueError(f"{folder / 'model.safetensors'} has no tensor {error}") from error
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # the library has no class of its own
            raise ValueError(f"{folder / 'tokenizer.json'}: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the beginning and the end of each token in a text of any length, without the special tokens."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).offsets)

    def vectors(self, texts: Sequence[str]) -> list[Array]:
        """Return the vector of each text, of unit length; shape (D,) each."""
        encoded = [self._tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        tokens = [[_BEGINNING, *ids[: LIMIT - 2], _END] for ids in encoded]
        vectors: dict[int, Array] = {}
        for together in self._groups([len(ids) for ids in tokens]):
            vectors |= dict(zip(together, self._computed([tokens[index] for index in together]), strict=True))
        return [vectors[index] for index in range(len(texts))]

    def _groups(self, lengths: Sequence[int]) -> list[list[int]]:
        """Return the indices of texts that are computed together."""
        if self._rows is None:
            return [[index] for index in range(len(lengths))]
        groups, rows = [list[int]()], 0
        for index, length in enumerate(lengths):
            rows += self._filled(length)
            if groups[-1] and rows > self._rows * TILES:
                groups.append([])
                rows = self._filled(length)
            groups[-1].append(index)
        return groups

    def _filled(self, tokens: int) -> int:
        """Return the rows of a text of so many tokens."""
        return tokens if self._rows is None else -(-tokens // self._rows) * self._rows

    def _computed(self, texts: Sequence[list[int]]) -> list[Array]:
        """Return the vectors of texts, by their tokens, as one product of each weight."""
        starts = [0, *itertools.accumulate(self._filled(len(ids)) for ids in texts)]
        places = [slice(start, start + len(ids)) for start, ids in zip(starts, texts, strict=False)]
        x = np.zeros((starts[-1], self._words.shape[1]), np.float32)
        for ids, place in zip(texts, places, strict=True):
            x[place] = self._words[ids] + self._positions[: len(ids)] + self._segment  # (T, D)
        with one_thread():
            x = self._norm(x)
            for layer in self._layers:
                x = layer(x, places)
        means = [x[place].mean(axis=0) for place in places]
        return [mean / np.sqrt(np.square(mean).sum()) for mean in means]


def rows_to_fill() -> int | None:
    """Return the rows of which each text fills a multiple here, so that several are computed together."""
    return rows_of_texts(_SHAPES)


def computation(rows: int | None) -> str:
    """Return the causes of a vector's last digit, besides the weights: libraries, processor, rows of a text."""
    filled = "" if rows is None else f", rows of a text {rows}"
    return f"{products()}, tokenizers {tokenizers.__version__}{filled}"


class _Linear(NamedTuple):
    """x W + b; a weight is kept transposed, as products of few rows are quicker so."""

    weight: Array
    bias: Array

    @classmethod
    def of(cls, tensors: Mapping[str, Array], *names: str) -> "_Linear":
        """Return the layer of a name, or several that read the same as one."""
        weights, biases = ([tensors[f"{name}.{kind}"] for name in names] for kind in ("weight", "bias"))
        return cls(np.concatenate([weight.T for weight in weights], axis=1), np.concatenate(biases))

    def __call__(self, x: Array) -> Array:
        y: Array = x @ self.weight
        y += self.bias
        return y


class _Norm(NamedTuple):
    """LayerNorm (Ba et al. 2016): mean 0 and variance 1 over the values of each token, times g, plus b."""

    gain: Array
    bias: Array

    @classmethod
    def of(cls, tensors: Mapping[str, Array], name: str) -> "_Norm":
        return cls(tensors[f"{name}.weight"].copy(), tensors[f"{name}.bias"].copy())

    def __call__(self, x: Array) -> Array:
        x = x - x.mean(axis=1, keepdims=True)
        variance = np.einsum("td,td->t", x, x) / np.float32(x.shape[1])
        x *= (1 / np.sqrt(variance + _EPSILON))[:, None]
        x *= self.gain
        x += self.bias
        return x


class _Layer(NamedTuple):
    """A layer of the encoder (Vaswani et al. 2017, §3.1)."""

    queries_keys_values: _Linear
    attended: _Linear
    after_attention: _Norm
    inner: _Linear
    outer: _Linear
    after_all: _Norm

    @classmethod
    def of(cls, tensors: Mapping[str, Array], name: str) -> "_Layer":
        attention = f"{name}.attention"
        return cls(
            _Linear.of(tensors, *(f"{attention}.self.{part}" for part in ("query", "key", "value"))),
            _Linear.of(tensors, f"{attention}.output.dense"),
            _Norm.of(tensors, f"{attention}.output.LayerNorm"),
            _Linear.of(tensors, f"{name}.intermediate.dense"),
            _Linear.of(tensors, f"{name}.output.dense"),
            _Norm.of(tensors, f"{name}.output.LayerNorm"),
        )

    def __call__(self, x: Array, texts: Sequence[slice]) -> Array:
        """Return the next values of texts, each in rows of its own."""
        read, attended = self.queries_keys_values(x), np.zeros_like(x)
        for text in texts:
            attended[text] = _attention(read[text])
        x = self.after_attention(x + self.attended(attended))
        return self.after_all(x + self.outer(_gelu(self.inner(x))))


def _attention(x: Array) -> Array:
    """Return softmax(q kᵀ / √d) v of every head: queries, keys and values (T, 3 D) to (T, D)."""
    tokens = len(x)
    q, k, v = x.reshape(tokens, 3, _HEADS, -1).transpose(1, 2, 0, 3)  # (H, T, d) each
    q *= np.float32(q.shape[-1] ** -0.5)
    weights: Array = q @ k.transpose(0, 2, 1)  # (H, T, T)
    weights -= weights.max(axis=-1, keepdims=True)
    np.exp(weights, out=weights)
    values = weights @ v
    values /= weights.sum(axis=-1, keepdims=True)
    attended: Array = values.transpose(1, 0, 2).reshape(tokens, -1)
    return attended


def _gelu(x: Array) -> Array:
    """Return x Φ(x), written over x (Hendrycks and Gimpel 2016)."""
    for start in range(0, len(x), _ROWS):
        rows = x[start : start + _ROWS]
        rows *= _normal(rows)
    return x


#: erf(x) = x P(x²) / Q(x²) on [-4, 4], beyond which it is ±1 in float32: the quotient of Eigen and of XLA.
_P = (-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04,
      -2.95459980854025e-03, -1.60960333262415e-02)  # fmt: skip
_Q = (-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03,
      -1.42647390514189e-02)  # fmt: skip

#: The same for Φ(x) - ½ = ½ erf(x/√2), the highest power first, and the bound beyond which it is constant.
_NORMAL_P = [np.float32(c * 0.5 ** (power + 1.5)) for power, c in zip(range(len(_P) - 1, -1, -1), _P, strict=True)]
_NORMAL_Q = [np.float32(c * 0.5**power) for power, c in zip(range(len(_Q) - 1, -1, -1), _Q, strict=True)]
_NORMAL_END = np.float32(4 * 2**0.5)


def _normal(x: Array) -> Array:
    """Return Φ(x), the share of a normal distribution below x."""
    x = np.clip(x, -_NORMAL_END, _NORMAL_END)
    square = x * x
    share = _polynomial(_NORMAL_P, square)
    share *= x
    share /= _polynomial(_NORMAL_Q, square)
    share += np.float32(0.5)
    return share


def _polynomial(coefficients: list[np.float32], x: Array) -> Array:
    """Return the value of a polynomial by Horner's rule, the highest power first."""
    first, *others, last = coefficients
    value = x * first
    for coefficient in others:
        value += coefficient
        value *= x
    value += last
    return value


def _tensors(file: Path) -> dict[str, Array]:
    """Return the tensors of a safetensors file by name, each mapped: unread ones take no memory.

    Such a file is the length of its header in eight bytes, the header in JSON, and the values.
    """
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        if length > file.stat().st_size:
            raise ValueError(f"{file} is no safetensors file")
        header = json.loads(opened.read(length))
    floats = {name: tensor for name, tensor in header.items() if tensor.get("dtype") == "F32"}
    return {name: _mapped(file, 8 + length + floats[name]["data_offsets"][0], floats[name]["shape"]) for name in floats}


def _mapped(file: Path, start: int, shape: Sequence[int]) -> Array:
    return np.memmap(file, "<f4", "r", start, tuple(shape)).view(np.ndarray)
