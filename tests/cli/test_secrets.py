"""A secret of a scenario: its owner alone is told, and a fork changes it."""

from pathlib import Path

import pytest
from support.commands import Cli

from tertulia.storage.store import SqlStore

SECRET = "Ana crashed the red van into the harbour wall."
DIALOGUE = f"""
name: the van
time: 2024-05-14 09:30:00
participants:
  - name: Ana
    secret: {SECRET}
    memories: [Ana has driven for ten years.]
  - name: Bo
    memories: [Bo repairs cars.]
"""
MEETING = f"""
kind: group_chat
name: the van
description: Three people have to say who pays for the van.
time: 2024-05-14 09:30:00
participants:
  - name: Ana
    secret: {SECRET}
  - name: Bo
  - name: Cy
"""


@pytest.mark.parametrize("text", [DIALOGUE, MEETING])
def test_a_secret_is_told_to_its_owner_alone(cli: Cli, tmp_path: Path, text: str) -> None:
    (tmp_path / "van.yaml").write_text(text, encoding="utf-8")
    cli("run", "van.yaml", "--rehearse", "--rounds", "4", "--seed", "1")
    told: dict[str, set[bool]] = {}
    with SqlStore.open(tmp_path / "tertulia.db", create=False) as store:
        (run,) = store.runs()
        assert store.start(run.run).participant("Ana").secrets == (SECRET,)
        for call in store.calls(run.run):
            units = store.prompt(call.prompt).units
            told.setdefault(call.agent, set()).add(any(SECRET in unit.text for unit in units))
    assert True in told["Ana"]
    assert told["Bo"] == {False}
    document = cli("outcomes", run.run, "--judge", "rehearsal", "--json").json
    ana, *others = document["runs"][0]["people"]
    assert (ana["secret"] is None) == (ana["lines"] == 0)
    assert all(person["secret"] is None for person in others)
