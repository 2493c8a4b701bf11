"""Vectors that outlive the process: what is kept, how much, and what happens where nothing can be."""

import stat
from pathlib import Path

import numpy as np
import pytest

from tertulia.storage.sqlite import kept_vectors
from tertulia.storage.sqlite.kept_vectors import VectorFile

FERRY, BOAT = np.array([0.6, 0.8], np.float32), np.array([1.0, 0.0], np.float32)


def test_a_vector_is_found_again_to_the_last_digit_by_its_embedder_alone(tmp_path: Path) -> None:
    VectorFile(tmp_path / "new" / "vectors.db").add("a", {"ferry": FERRY, "half \ud800": BOAT})
    kept = VectorFile(tmp_path / "new" / "vectors.db")
    found = kept.find("a", ["ferry", "boat", "half \ud800"])
    assert {text: vector.tobytes() for text, vector in found.items()} == {
        "ferry": FERRY.tobytes(),
        "half \ud800": BOAT.tobytes(),
    }
    assert kept.find("b", ["ferry"]) == {}


def test_what_is_kept_stays_as_it_is(tmp_path: Path) -> None:
    kept, other = VectorFile(tmp_path / "vectors.db"), VectorFile(tmp_path / "vectors.db")
    kept.add("a", {"ferry": FERRY})
    other.add("a", {"ferry": BOAT, "boat": BOAT})
    assert kept.find("a", ["ferry"])["ferry"].tobytes() == FERRY.tobytes()
    assert list(kept.find("a", ["boat"])) == ["boat"]


def test_the_oldest_of_too_many_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_vectors, "MOST", 3)
    VectorFile(tmp_path / "vectors.db").add("a", {f"text {number}": FERRY for number in range(5)})
    found = VectorFile(tmp_path / "vectors.db").find("a", [f"text {number}" for number in range(5)])
    assert sorted(found) == ["text 2", "text 3", "text 4"]


def test_the_file_is_its_owner_s_and_holds_no_text(tmp_path: Path) -> None:
    kept = VectorFile(tmp_path / "vectors.db")
    kept.add("a", {"a secret about the ferry": FERRY})
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0
        assert b"secret" not in file.read_bytes()


@pytest.mark.parametrize("spoil", [Path.mkdir, lambda path: path.write_bytes(b"no database" * 200)])
def test_where_nothing_can_be_kept_nothing_is(tmp_path: Path, spoil) -> None:
    spoil(tmp_path / "vectors.db")
    kept = VectorFile(tmp_path / "vectors.db")
    kept.add("a", {"ferry": FERRY})
    assert kept.find("a", ["ferry"]) == {}
