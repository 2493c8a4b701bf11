"""What the terminal, and other programs, see of a group chat that is stored."""

from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.group_stored import BEGIN, MECHANISMS, NAMES, ROUNDS, write_meeting
from support.stored import a_case, a_run, write_turns

from tertulia.cli.terminal.lines import print_turn
from tertulia.cli.terminal.output import data
from tertulia.cli.views import live
from tertulia.storage.store import SqlStore

RUN, DIALOGUE, ODD = "m33t", "d1a1", "0dd5"
ADA, BEN, CLEO, DEV = NAMES


@pytest.fixture(autouse=True)
def store(cli: Cli) -> SqlStore:
    """The store of this folder, with a meeting and a dialogue of two; `cli` has gone to the folder."""
    with SqlStore.open(Path("tertulia.db"), create=True) as opened:
        opened.create_run(a_run(DIALOGUE), a_case())
        write_turns(opened, DIALOGUE, 1, 3)
        write_meeting(opened, RUN)
        yield opened


def turn_of(cli: Cli, number: int, *more: str) -> dict[str, Any]:
    return cli("show", RUN, "--turn", number, *more, "--json").json


def by_agent(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {agent["agent"]: agent for agent in document["cognition"]}


# --- show, as JSON --------------------------------------------------------------------------------------------------


def test_cognition_of_a_turn_is_the_contract(cli: Cli) -> None:
    document = turn_of(cli, 4)
    agents = by_agent(document)
    assert list(agents) == [ADA, BEN, CLEO]  # Dev has not come yet
    keys = {"agent", "mechanisms", "thought", "willingness", "willingness_parts", "similarity", "latency_scale_s"}
    keys |= {"latency_spread_s", "persistence", "latency_s", "won"}
    assert all(keys <= agent.keys() for agent in agents.values())
    assert agents[BEN]["mechanisms"]["time_analysis"] == {"active": True, "reason": "I have to go soon"}
    assert list(agents[BEN]["mechanisms"]) == list(MECHANISMS)
    assert agents[CLEO]["willingness_parts"] == {"topic": 0.6, "goal": 0.7, "emotion": 0.5, "personality": 0.8}
    parts, weights = agents[CLEO]["willingness_parts"], agents[CLEO]["weights"]
    assert sum(weights[part] * parts[part] for part in parts) == pytest.approx(agents[CLEO]["willingness"])
    assert [agent["won"] for agent in agents.values()] == [False, False, True]
    assert [agent["latency_s"] for agent in agents.values()] == [3.58, None, 3.5]
    assert agents[ADA]["thought"] == "Ada thinks number 4."
    assert document["floor"]["tied"] == [ADA, CLEO]
    assert [unit["block"] for unit in document["units"]] == ["goals", "situation"]
    assert [candidate["text"] for candidate in document["candidates"] if candidate["chosen"]] == [document["text"]]


def test_a_silence_has_no_prompt_but_cognition(cli: Cli) -> None:
    for number, agents in ((3, 3), (6, 4)):
        document = turn_of(cli, number)
        assert (document["speaker"], document["text"], document["rollbacks"]) == (None, "", 0)
        assert (document["units"], document["candidates"]) == ([], [])
        assert len(document["cognition"]) == agents
        assert document["floor"]["waited_s"] is None
    cli("show", RUN, "--turn", 3, "--lambda", 0.5).complains(3, "turn 3", "silence")


def test_how_a_meeting_began(cli: Cli) -> None:
    document = turn_of(cli, 0)
    assert [character["agent"] for character in document["characters"]] == list(NAMES)
    assert document["characters"][0]["plan"] == [{"goal": 0, "text": "ask for places", "share": 1.0}]
    (call,) = turn_of(cli, 0, "--agent", ADA)["calls"]
    assert call["node"] == "plan"
    shown = cli("show", RUN, "--turn", 0).out
    assert "Four colleagues look for a place and a date." in shown
    assert "ask for places (100%)" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("show", RUN, "--turn", 2, "--agent", "Adda"), 3, ["'Adda'", "did you mean 'Ada'"]),
        (("show", RUN, "--turn", 2, "--agent", DEV), 3, ["Dev was not there in turn 2"]),
        (("show", RUN, "--lambda", 0.5), 2, ["--turn"]),
        (("show", RUN, "--turn", 8), 3, ["no turn 8", "turns 1 to 7"]),
        (("show", RUN, "--turn", 0, "--lambda", 0.5), 3, ["no turn 0", "turns 1 to 7"]),
        (("show", DIALOGUE, "--turn", 1, "--agent", "Zoe"), 3, ["'Zoe'", DIALOGUE]),
        (("show", DIALOGUE, "--turn", 0), 3, ["no turn 0"]),
        (("timeline", RUN, "--agent", "Ana"), 3, ["'Ana'", "did you mean 'Ada'"]),
        (("timeline", "zz99"), 3, ["'zz99'"]),
        (("stats", "zz99"), 3, ["'zz99'"]),
        (("stats", RUN, "--paper"), 3, [RUN, "Alice", "team_building"]),
    ],
)
def test_bad_requests(cli: Cli, arguments: tuple[str, ...], code: int, words: list[str]) -> None:
    result = cli(*arguments)
    result.complains(code, *words)
    assert result.out == ""


# --- show and timeline, for people ----------------------------------------------------------------------------------


def test_a_meeting_is_shown_with_its_clock_and_silences(cli: Cli) -> None:
    lines = cli("show", RUN).out.splitlines()
    assert lines[1] == "The summer day, Thursday 12 June 2025, 14:59 to 15:29, the small meeting room"
    assert lines[2] == "Ada, Ben (until 15:00), Cleo, Dev (from 15:00)"
    assert "self driven" in lines[3]
    assert lines[5] == "  0  14:59:40   0:00  Ada: Good that you are here."
    assert lines[8] == "  3  14:59:53   0:13  … ten seconds of silence"
    assert lines[9] == "  4  15:00:07   0:27  Cleo: I have it here. The lake was the favourite."


def test_a_round_is_shown_with_its_race(cli: Cli) -> None:
    lines = [line.strip() for line in cli("show", RUN, "--turn", 4).out.splitlines()]
    cleo, ada, ben = (
        next(line for line in lines if line.startswith(start)) for start in ("→ Cleo\t█", "Ada\t█", "Ben\t")
    )
    assert cleo.count("█") < ada.count("█")
    assert "3.50 s" in cleo
    assert "3.58 s" in ada
    assert "not willing: 0.25 < threshold 0.5" in ben
    assert "self driven; a tie of Ada and Cleo was drawn; first word after 3.50 s" in lines
    assert any("0.25 × 0.60 topic" in line and "= 0.65 ≥ threshold 0.5" in line for line in lines)
    assert "off\tmemory retrieval, mention response" in lines
    assert any(line.startswith("→ said") for line in lines)


def test_timeline(cli: Cli) -> None:
    document = cli("timeline", RUN, "--json").json
    assert [turn["turn"] for turn in document["turns"]] == list(range(ROUNDS + 1))
    assert document["turns"][0]["time"] == BEGIN.isoformat()
    thoughts = {
        turn["turn"]: [(t["agent"], t["willing"], t["won"]) for t in turn["thoughts"]] for turn in document["turns"]
    }
    assert thoughts[0] == thoughts[3] == []
    assert thoughts[4] == [(CLEO, True, True), (ADA, True, False)]
    assert thoughts[6] == [(ADA, True, False)]  # too slow, in a silence
    assert document["joined"] == [{"agent": DEV, "sim_time_s": 30.0, "reason": None}]
    assert document["left"] == [{"agent": BEN, "sim_time_s": 40.0, "reason": "a call at half past"}]
    shown = cli("timeline", RUN).out
    lines = shown.splitlines()
    rows = [line.split("\t") for line in lines if "\t" in line]
    assert [row[1] for row in rows[1:3]] == [
        "Ada: Good that you are here.",
        "Ada: Shall we look for a place for the summer day?",
    ]
    assert rows[5][2] == "→ Cleo: Cleo thinks number 4. · Ada: Ada thinks number 4."
    assert (
        shown.index("Dev joins") < shown.index("Sorry that I am late.") < shown.index("Ben leaves: a call at half past")
    )
    assert lines[-2:] == ["joined meanwhile: Dev (15:00)", "left meanwhile: Ben (15:00, a call at half past)"]


# --- stats ----------------------------------------------------------------------------------------------------------


def test_stats(cli: Cli) -> None:
    document = cli("stats", RUN, "--json").json
    assert document.keys() >= {"schema_version", "run", "scenario", "order", "agents", "turns", "silences", "evenness"}
    assert (document["turns"], document["silences"], document["silence_s"]) == (7, 2, 20.0)
    ada, ben, cleo, dev = document["agents"]
    assert ada["latency"]["class"] == "proactive"
    assert cleo["latency"] == {"class": None, "scale_s": 4.5, "spread_s": 2.6}
    assert ben["latency"] == {"class": None, "scale_s": 2.0, "spread_s": 1.0}
    assert (ada["setting"], ben["setting"], len(ada["traits"])) == ("wants a decision today", None, 5)
    figures = [
        (agent["spoken"], agent["wanting_to_speak"], agent["silent"], agent["decisions"])
        for agent in document["agents"]
    ]
    assert figures == [(2, 5, 2, 7), (1, 2, 4, 6), (1, 1, 6, 7), (1, 1, 2, 3)]
    assert ben["mechanisms"]["time_analysis"] == {"on": 6, "off": 0}
    assert list(dev["mechanisms"]) == list(MECHANISMS)
    after = [(agent["wanting_after_silence"], agent["speaking_after_silence"]) for agent in document["agents"]]
    assert after == [(2, 1), (0, 0), (1, 1), (0, 0)]
    assert ada["speaking_time_s"] == ada["words"] / 150 * 60


def test_stats_beside_the_papers_figures(cli: Cli) -> None:
    with SqlStore.open(Path("tertulia.db")) as opened:
        write_meeting(opened, ODD, names=("Alice", "Bob", "Cindy", "Zoe"))
    document = cli("stats", ODD, "--paper", "--json").json
    theirs = {agent["agent"]: agent for agent in document["paper"]["agents"]}
    assert (theirs["Cindy"]["spoken"], theirs["Bob"]["mechanisms"]["time_analysis"]) == (29, {"on": 119, "off": 0})
    assert theirs["Cindy"]["words"] is None
    lines = [line.split() for line in cli("stats", ODD, "--paper").out.splitlines()]
    at = next(i for i, words in enumerate(lines) if words[:1] == ["Bob"] and "6-0" in words)
    assert lines[at + 1] == ["paper", "18", "28", "91", "12-107", "119-0", "–", "9", "5"]
    assert sum(words[:1] == ["paper"] for words in lines) == 6  # three of the paper's people, in two tables


# --- what a terminal must not obey ----------------------------------------------------------------------------------


def test_nothing_of_a_meeting_is_obeyed_by_a_terminal(cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    names = ('Ida "O\'Neil" 🦀\nFalk', "Jonas\x1b[31m; DROP TABLE runs", "[red]Lu\u202e[/red]", "Åsa\x07")
    with SqlStore.open(Path("tertulia.db")) as opened:
        write_meeting(opened, ODD, names=names)
        start = opened.start(ODD)
        live.print_heading(start, opened.run(ODD))
        print_turn(data(), opened.turns(ODD)[0], start)
        live.print_round_thoughts(opened, opened.run(ODD), 2)
    printed = capsys.readouterr().out
    asked = [("runs",), ("show", ODD), ("timeline", ODD), ("timeline", ODD, "--agent", names[1]), ("stats", ODD)]
    asked += [("show", ODD, "--turn", number, *agent) for number in (0, 2, 4) for agent in ((), ("--agent", names[0]))]
    for arguments in asked:
        for more in ((), ("--json",)):
            result = cli(*arguments, *more)
            assert result.code == 0, result.err
            printed += result.out + result.err
    assert all(char in "\n\t" or char.isprintable() for char in printed)
    assert "[red]Lu�[/red]" in printed  # shown as it is, not read as markup
    result = cli("show", ODD, "--turn", 2, "--agent", "\x1b[31mnobody")
    result.complains(3, "nobody")
    assert result.err.replace("\n", "").isprintable()
