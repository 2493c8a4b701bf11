"""The programs of docs/langgraph.md are run as they stand, in their order."""

import re
from pathlib import Path
from typing import Any

import pytest
from support.tiny import tiny_language_model

import tertulia.attention

pytestmark = pytest.mark.full

PAGE = Path(__file__).parents[2] / "docs" / "langgraph.md"


def test_the_programs_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tertulia.attention, "open_model", lambda name: tiny_language_model())
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {"__name__": "langgraph_page"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["answer"]
    assert names["shown"]["text"] != "The boat is gone."
    assert [unit["id"] for unit in names["said"]["units"] if unit["removed"]] == ["memory.memory_1"]
    assert "No, begin with the rain." in [message.content for message in names["other"]["messages"]]
    assert {said["speaker"] for said in names["meeting"]["utterances"]} <= {"Ana", "Bo", "Cy"}
    assert names["held"]["picture"] in ("a red boat", "a storm over the quay")
    assert names["again"]["utterance"]["removed"] == [] != names["state"]["utterance"]["removed"]
    assert names["found"].checkpoint["channel_values"]
    assert names["reached"] <= 0.5
