"""What a meeting agreed on: in `show`, its JSON, Python, and the page."""

from datetime import datetime, timedelta

import pytest
from support.commands import Cli
from support.group_stored import BEGIN, NAMES, a_group_run, a_meeting

import tertulia
from tertulia.state.records import Turn, TurnRecord
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.figures import figures_page
from tertulia.views.reading.agreements import agreements_of, in_words

ADA, BEN, CLEO, _ = NAMES

LINES = (
    (ADA, "We need a list of who comes."),
    (BEN, "I'll write the list."),
    (None, ""),
    (CLEO, "Good, Ben writes the list."),
    (ADA, "Shall we meet again tomorrow at nine in the canteen?"),
    (CLEO, "Yes, gladly."),
    (ADA, "Could somebody ring the ferry?"),
)


@pytest.fixture
def stored(cli: Cli) -> SqlStore:
    store = SqlStore.open("tertulia.db")
    store.make_file()
    store.create_run(a_group_run("m33t", status="finished"), a_meeting())
    for turn, (speaker, text) in enumerate(LINES, start=1):
        spoken = Turn(turn=turn, round=turn, speaker=speaker, text=text, sim_time_s=4.0 * turn, ended=False)
        store.save_turn("m33t", TurnRecord(turn=spoken))
    return store


def test_a_meeting_agrees_on_who_does_what_and_when_to_meet(cli: Cli, stored: SqlStore) -> None:
    run = stored.run("m33t")
    task, meeting = agreements_of(run, stored.start("m33t"), stored.turns("m33t"))
    assert (task.kind, task.doer, task.people, task.turns) == ("task", BEN, (BEN, CLEO), (2, 4))
    tomorrow = datetime.combine(BEGIN.date() + timedelta(days=1), datetime.min.time()).replace(hour=9)
    assert (meeting.kind, meeting.people, meeting.time, meeting.place) == ("meet", (ADA, CLEO), tomorrow, "canteen")
    assert in_words(task) == f"{BEN} and {CLEO}: {BEN} is to do it: I'll write the list."


def test_it_is_shown(cli: Cli, stored: SqlStore) -> None:
    stored.close()
    shown = cli("show", "m33t")
    assert shown.code == 0, shown.err
    said = shown.out
    assert "agreed in turns 2 to 4" in said
    assert "agreed in turns 5 to 6" in said
    rows = cli("show", "m33t", "--json").json["agreements"]
    assert [row["turns"] for row in rows] == [[2, 4], [5, 6]]
    found = tertulia.open_store("tertulia.db").run("m33t").agreements
    assert [agreement.model_dump(mode="json") for agreement in found] == rows
    with SqlStore.open("tertulia.db") as store:
        assert figures_page(store, "m33t")["agreements"] == rows
