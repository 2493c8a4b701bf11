"""The benchmark of reducers: what it counts, and that it holds with any model."""

import io
from typing import get_args

import pytest
from rich.console import Console
from support.tiny import tiny_language_model

from benchmarks import sinks
from tertulia.prompts.render import render
from tertulia.state.parameters import Reducer
from tertulia.state.records import Prompt, Unit


def a_prompt() -> Prompt:
    texts = {"memory.a": "Mara sells fish.", "memory.b": "Piotr keeps the light.", "basic_info.age": "Age: 44"}
    units = [Unit(id=id, block=id.split(".")[0], kind="item", text=t, removable=True) for id, t in texts.items()]
    task = Unit(id="task.text_1", block="task", kind="text", text="Write what Mara says.")
    return Prompt(units=(*units, task), speaker="Mara", layout="single_message")


def test_the_share_of_what_helps_is_that_of_the_removed_units() -> None:
    scores = {"memory.a": 6.0, "memory.b": 3.0, "basic_info.age": 3.0, "task.text_1": 9.0}
    effect = {"memory.a": 1.0, "memory.b": 3.0, "basic_info.age": -5.0}
    assert sinks.share_removed(a_prompt(), scores, effect) == [(0.25, 1 / 3)]
    assert sinks.share_removed(a_prompt(), scores, dict.fromkeys(effect, -1.0)) == [], "nothing helps"


def test_shuffled_orders_keep_what_is_not_removable_and_come_again() -> None:
    orders = [[unit.id for unit in sinks.shuffled(a_prompt(), order).units] for order in range(8)]
    assert all(order[-1] == "task.text_1" for order in orders)
    assert len({tuple(order) for order in orders}) > 2
    assert orders == [[unit.id for unit in sinks.shuffled(a_prompt(), order).units] for order in range(8)]


async def test_every_reducer_has_a_row_of_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "RESPONSES", 5)
    model, rows = tiny_language_model(context_window=None), {}
    for number in range(2):
        await sinks.measure(model, a_prompt(), number, rows)
    assert {*get_args(Reducer), sinks.SHUFFLED, sinks.BEYOND_SHUFFLED, "length in tokens"} < set(rows)
    lengths = {unit: b - a for unit, (a, b) in render(a_prompt(), model.tokenizer).token_spans.items()}
    assert rows["length in tokens"].highest == [max(list(lengths)[:3], key=lambda unit: lengths[unit])] * 2
    assert all(-1 <= value <= 1 for row in rows.values() for value in row.agreement)
    shown = io.StringIO()
    Console(file=shown, width=160).print(sinks.table(rows))
    assert "beyond-neutral" in shown.getvalue()
