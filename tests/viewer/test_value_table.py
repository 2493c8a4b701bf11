"""Documents come out of the table as they went in, whatever is in them, and what repeats is stored once."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exported_page import unpacked_values, whole

from tertulia.viewer.documents import value_table
from tertulia.viewer.documents.value_table import ValueTable

texts = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["~", "~~", "~0", "~zz", "~" * 50, "long " * 20, "~" + "long " * 20, "\ud800"]),
)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=30,
)


@given(st.lists(documents, min_size=1, max_size=5), st.sampled_from([1, 100, 10_000]))
def test_every_document_comes_out_as_it_went_in(added: list[Any], chunk_bytes: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(value_table, "CHUNK_BYTES", chunk_bytes)
        table = ValueTable()
        numbers = [table.add(document) for document in added]
        table.close_chunk()
    values = unpacked_values(table.chunks)
    assert [whole(values, number) for number in numbers] == added
    assert len(table.firsts) == len(table.chunks)
    assert table.firsts == [len(unpacked_values(table.chunks[:at])) for at in range(len(table.chunks))]


def test_what_repeats_is_stored_once() -> None:
    table = ValueTable()
    prompt = [{"id": f"memory.{i}", "text": f"Memory {i} of somebody with a long life. " * 5} for i in range(50)]
    for turn in range(20):
        table.add({"turn": turn, "units": prompt, "reply": f"Reply {turn}, which is new in every turn of it."})
    table.close_chunk()
    stored = unpacked_values(table.chunks)
    assert sum("Memory 7 of" in str(value) for value in stored) == 1
    assert sum("Reply" in str(value) for value in stored) == 20


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        ValueTable().add({"score": math.nan})
