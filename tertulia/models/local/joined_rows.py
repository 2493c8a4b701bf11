"""How rows of several texts stand in one product of matrices, so that none changes the digits of another.

A library computes a product in tiles of a few rows, and a row's last digit depends on its place in a tile (OpenBLAS's
kernel for AVX2: of 12 rows, six add up in one order and six in another) and on the rest at the end. If each
text begins a tile of its own and fills whole ones, its rows are computed as if they were alone.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from tertulia.models.local.one_thread import one_thread

Array = NDArray[np.float32]

#: Numbers of rows that are tried, the smallest that will do being taken: multiples of the tiles that libraries have.
_TRIED = (4, 6, 8, 12, 16, 24)
#: The most tiles of one product: with 192 rows weights are read and packed seldom enough.
TILES = 16


@cache
def rows_of_texts(shapes: tuple[tuple[int, int], ...]) -> int | None:
    """Return the number of rows that each text must fill a multiple of; `None`: texts must be computed apart.

    It is found by trying, to the last bit, as no library promises any: the first shape with every number of tiles, the
    others with the most.

    Args:
        shapes: Of the weights, each `(in, out)`, by which rows are multiplied.
    """
    numbers = np.sin(np.square(np.arange(4093, dtype=np.float32)))  # a prime: rows differ; digits to the last
    weights = [np.resize(numbers, shape) for shape in shapes]
    with one_thread():
        return next((rows for rows in _TRIED if _are_apart(rows, weights, numbers)), None)


def _are_apart(rows: int, weights: list[Array], numbers: Array) -> bool:
    """Return whether so many rows are the same at every place of a product as by themselves."""
    for number, weight in enumerate(weights):
        x = np.resize(numbers, (rows, len(weight)))
        alone = x @ weight
        for tiles in range(2, TILES + 1) if number == 0 else [TILES]:
            together = np.tile(x, (tiles, 1)) @ weight
            if not (together.reshape(tiles, *alone.shape) == alone).all():
                return False
    return True
