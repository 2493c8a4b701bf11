"""A store whose every free text is an attack on a page: markup, scripts, links, controls, and very long lines."""

from collections.abc import Iterator
from datetime import datetime
from itertools import cycle
from pathlib import Path
from typing import Any
from unittest.mock import patch

from support import album_stored, group_stored
from support.stored import NOW, a_candidate, a_reply, a_run

from tertulia.state.records import Case, Memory, Participant, Persona, Prompt, Record, Turn, TurnRecord, Unit
from tertulia.storage.store import SqlStore

#: What a script of an attack sets, were it run.
FLAG = "ran"
_RUN = f"window.{FLAG}=1;parent.{FLAG}=1"

ATTACKS = (
    f"<script>{_RUN}</script>",
    f"</script><script>{_RUN}</script>",
    f"<!--<script>{_RUN}</script>",
    f"]]>--></style></title></textarea><script>{_RUN}</script>",
    f'<img src=x onerror="{_RUN}">',
    f"\"'><svg onload='{_RUN}'><script>{_RUN}</script></svg>",
    f'<a href="javascript:{_RUN}" style="position:fixed;inset:0">press</a>',
    f"javascript:{_RUN}",
    f'<iframe srcdoc="<script>{_RUN}</script>"></iframe>',
    '<base href="http://192.0.2.1/"><link rel="stylesheet" href="http://192.0.2.1/x.css">',
    '<meta http-equiv="refresh" content="0;url=http://192.0.2.1/">',
    "<style>*{display:none!important}</style>",
    '<img src="http://192.0.2.1/x.png">http://192.0.2.1/ url(http://192.0.2.1/y.png)',
    "\u202egnp.elif\u202d\u2066right to left\u2069\u061c",
    "\x1b[31mred\x1b]0;title\x07\x9b2J",
    "lines\u2028that\u2029end\r\nhere\x85and there",
    '=HYPERLINK("http://192.0.2.1/";"x")\t+1-1@SUM(1)',
    "{{constructor.constructor('return 1')()}} ${1+1} %s %00",
    "~0 ~~k ~",
    "W\u0301\u0302\u0303\u0304" * 40 + "i" * 300,
)

NAMES = (f"<b onclick={_RUN}>Ada</b>", "__proto__", "\u202eBen ../%2e%2e/?#&=\"'", "Dev" + "\u0301" * 60 + " =1+1")

#: A line without a space, longer than anybody would read.
LONG = "<" + "x" * 100_000

_FREE = {
    *("text", "thought", "situation", "emotion", "comment", "key_information", "situation_summary", "label", "error"),
    *("character_analysis", "decision_reason", "reason", "lines", "problem", "descriptions", "title", "description"),
    *("place", "setting", "background", "lifestyle", "activity", "leaves_for", "caption", "variant", "scored_by"),
}


class HostileWriter:
    """A store that adds an attack to every free text of what is written through it."""

    def __init__(self, store: SqlStore) -> None:
        self._store, self._attacks = store, cycle(ATTACKS)

    def __getattr__(self, name: str) -> Any:
        write = getattr(self._store, name)
        return lambda *arguments: write(*map(self._poisoned, arguments))

    def _poisoned(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._poisoned(inner) for inner in value]
        if not isinstance(value, Record):
            return value
        return value.model_copy(update=dict(self._changes(value)))

    def _changes(self, record: Record) -> Iterator[tuple[str, Any]]:
        for name, value in record:
            if name in _FREE and isinstance(value, str):
                yield name, f"{value} {next(self._attacks)}"
            elif name in _FREE and isinstance(value, tuple):
                yield name, tuple(f"{text} {next(self._attacks)}" for text in value)
            elif isinstance(value, Record):
                yield name, self._poisoned(value)
            elif isinstance(value, tuple):
                yield name, tuple(map(self._poisoned, value))
            elif isinstance(value, dict):
                yield name, {key: self._poisoned(inner) for key, inner in value.items()}


def write_hostile_store(path: Path) -> dict[str, str]:
    """Write a dialogue, a meeting that failed, and an album chat; return their ids by kind."""
    with SqlStore.open(path, create=True) as opened:
        store: Any = HostileWriter(opened)
        _write_dialogue(store, "d1a1")
        _write_dialogue(store, "d1a2")
        failed = {"status": "failed", "error": "it broke", "label": "mine", "scenario": ATTACKS[5], "model": ATTACKS[4]}
        run = group_stored.a_group_run("m33t", **failed)
        with patch.object(group_stored, "a_group_run", lambda _run: run):
            group_stored.write_meeting(store, "m33t", NAMES)
        _write_album(store, "a1b2")
    return {"dialogue": "d1a1", "other": "d1a2", "meeting": "m33t", "album": "a1b2"}


def _write_dialogue(store: Any, run: str) -> None:
    people = [
        Participant(
            persona=Persona(name=name, background=("a keeper",)),
            activity="reading",
            memories=(Memory(id="1", kind="event", created=NOW, importance=3, text="m"),),
        )
        for name in NAMES[:2]
    ]
    case = Case(scenario="cafe", time=datetime(2025, 6, 12, 15), place="here", initiator=people[0], partner=people[1])
    store.create_run(a_run(run, status="finished", label=run, scenario=ATTACKS[0]), case)
    for number, attack in enumerate((*ATTACKS, LONG), start=1):
        units = tuple(
            Unit(id=f"memory.{name}{number}", block="memory", kind="item", text=attack, removable=True)
            for name in NAMES
        )
        speaker = NAMES[number % 2]
        prompt = store.save_prompt(Prompt(units=units, speaker=speaker, layout="single_message"))
        judged = {"inconsistency": 3.5, "inconsistency_runs": (3.0, 4.0), "comment": "no"}
        candidate = a_candidate(0, number, **judged).model_copy(update={"text": attack, "reply": a_reply(attack)})
        store.save_candidate(run, number, candidate)
        spoken = Turn(turn=number, round=number, speaker=speaker, text=attack, sim_time_s=number * 3.0, ended=False)
        scores = {unit.id: 0.1 * place for place, unit in enumerate(units)}
        record = TurnRecord(turn=spoken, prompt=prompt, scores=scores, removed=(units[0].id,), scored_by="m")
        store.save_turn(run, record)


def _write_album(store: Any, run: str) -> None:
    renamed = dict(zip(album_stored.ALBUMS, (*NAMES, "Eva"), strict=True))
    albums = {renamed[name]: album for name, album in album_stored.ALBUMS.items()}
    bare = tuple(picture.model_copy(update={"file": None}) for picture in album_stored.PICTURES)
    with patch.multiple(album_stored, ALBUMS=albums, PICTURES=bare):
        store.create_run(album_stored.an_album_run(run), album_stored.a_population())
    for turn, encounter in enumerate(album_stored.EXCHANGES, start=1):
        met = encounter._replace(asker=renamed[encounter.asker], answerer=renamed[encounter.answerer])
        album_stored.write_exchange(store, run, turn, (turn + 1) // 2, met)
