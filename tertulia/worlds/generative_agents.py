"""Build cases from a Generative Agents run: every distinct dialogue is a starting point, without its future.

1. A dialogue is an unordered pair with a text, at the earliest time at which either of them recorded it.
2. Cases count from 0 in order of time.
3. All records of a case are from strictly before its time. Files that hold the end of the run (`scratch.json`,
   `spatial_memory.json`) give only constant facts; the rest is withheld, with a note in the case.
4. Texts that the program wrote itself, because a reply of its model failed, are no memories, activities or lines.
5. Being from before is not enough. The log plans a conversation one step before it records it, so the movement
   entry of the last step before a case already holds the whole conversation and its summary; such an entry is
   passed over, and a memory of the conversation that the case itself starts stays out of its prompts.

Source: APP §2 (cases from the logs of Park et al. 2023).
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from tertulia.state.errors import NotFoundError, ScenarioError
from tertulia.state.records import Case, Dialogue, Participant, Utterance
from tertulia.state.text import counted, path_argument, shell_argument
from tertulia.worlds.ga_files import MADE_UP, RunFiles, StreamRecord, address_in_words, read_run
from tertulia.worlds.ga_movement import Action
from tertulia.worlds.log_words import activity_in

#: How long an observation tells a person's place. People look around at every step, but keep only new observations.
FRESH = timedelta(minutes=1)


@dataclass(frozen=True)
class LoggedDialogue:
    """A distinct dialogue of a run.

    Attributes:
        time: The earliest time at which either of the two recorded it.
        pair: Their names, sorted.
        summaries: The log's descriptions of it, each with the time from which memories hold it; the movement file
            has them earlier.
    """

    time: datetime
    pair: tuple[str, str]
    utterances: tuple[Utterance, ...]
    summaries: Mapping[str, datetime]

    @property
    def initiator(self) -> str:
        """The first speaker."""
        return self.utterances[0].speaker

    @property
    def partner(self) -> str:
        """The person addressed first."""
        return self.pair[1] if self.initiator == self.pair[0] else self.pair[0]


@dataclass(frozen=True)
class Log:
    """A run that has been read.

    Attributes:
        dialogues: Its distinct dialogues in order of time; the index of a dialogue is the number of its case.
        skipped: How many chat records make no case, by reason.
    """

    folder: Path
    files: RunFiles
    dialogues: tuple[LoggedDialogue, ...]
    skipped: Mapping[str, int]

    def case(self, number: int, scenario: str) -> Case:
        """Return a case by its number; `NotFoundError` if there is none."""
        dialogue = self.dialogue(number)
        new_summaries = self._summaries_new_with(dialogue)
        withheld = list(self.files.notes)
        participants = {}
        actions = {}
        for name in (dialogue.initiator, dialogue.partner):
            leaking = self._leaking_records(dialogue, name, new_summaries)
            action = actions[name] = self._last_action(dialogue, name, new_summaries)
            activity = activity_in(action.activity, name) if action else self._last_event_of_self(dialogue, name)
            participants[name] = Participant(
                persona=self.files.people[name].persona,
                memories=tuple(
                    record.memory
                    for record in self._before(dialogue, name)
                    if record.memory.id not in leaking and not record.is_idle and not record.is_made_up
                ),
                activity=activity,
            )
            withheld += self._withheld(dialogue, name, leaking, activity)
        place, unknown = self._place(dialogue, actions[dialogue.initiator])
        withheld += unknown
        return Case(
            scenario=scenario,
            time=dialogue.time,
            place=place,
            initiator=participants[dialogue.initiator],
            partner=participants[dialogue.partner],
            previous_dialogues=tuple(
                Dialogue(time=earlier.time, utterances=earlier.utterances)
                for earlier in self.dialogues
                if earlier.pair == dialogue.pair and earlier.time < dialogue.time
            ),
            withheld=tuple(withheld),
        )

    def memory_counts(self, number: int) -> dict[str, int]:
        """Return the number of records that each of the two has from strictly before a case, the initiator first.

        All records of the stream count, including those that a case withholds.
        """
        dialogue = self.dialogue(number)
        return {name: len(self._before(dialogue, name)) for name in (dialogue.initiator, dialogue.partner)}

    def made_up_counts(self, number: int) -> dict[str, int]:
        """Return how many of the records that `memory_counts` counts the program made up, by name."""
        dialogue = self.dialogue(number)
        names = (dialogue.initiator, dialogue.partner)
        return {name: sum(record.is_made_up for record in self._before(dialogue, name)) for name in names}

    @property
    def gap(self) -> str | None:
        """Why the run has no case, and the commands that it is good for, in one line; `None` if it has cases."""
        if self.dialogues:
            return None
        without_text, without_folder = self.skipped["without_text"], self.skipped["partner_without_folder"]
        chats = f"{without_text} chats without text, {without_folder} with a partner who has no folder"
        person = self.folder / "personas" / next(iter(self.files.people))
        return (
            f"{self.folder} holds no dialogue to start from{f' ({chats})' if without_text or without_folder else ''}; "
            f"let days pass there, with `tertulia simulate {shell_argument(f'ga:{self.folder}')}`, or take "
            f"participants from its people, with `tertulia people import {path_argument(str(person))}`"
        )

    def dialogue(self, number: int) -> LoggedDialogue:
        """Return the dialogue of a case; `NotFoundError` if there is none, `ScenarioError` if the run has no case."""
        if self.gap:
            raise ScenarioError(self.gap)
        if not 0 <= number < len(self.dialogues):
            raise NotFoundError(
                f"there is no case {number}: the run has {len(self.dialogues)}, numbered from 0 to "
                f"{len(self.dialogues) - 1}"
            )
        return self.dialogues[number]

    @cached_property
    def _chat_predicates(self) -> frozenset[str]:
        """The predicates by which events are chats, in the language of the log: those of chats, but not of things."""
        records = [record for person in self.files.people.values() for record in person.stream]
        of_chats = {record.predicate for record in records if record.memory.kind == "chat"}
        return frozenset({"chat with"} | of_chats - {record.predicate for record in records if ":" in record.subject})

    def _before(self, dialogue: LoggedDialogue, name: str) -> tuple[StreamRecord, ...]:
        stream = self.files.people[name].stream
        return stream[: bisect_left(stream, dialogue.time, key=lambda record: record.memory.created)]

    def _summaries_new_with(self, dialogue: LoggedDialogue) -> frozenset[str]:
        """Return the dialogue's summaries without those already recorded of another dialogue of either speaker."""
        known = {
            summary
            for logged in self.dialogues
            if not set(logged.pair).isdisjoint(dialogue.pair)
            for summary, since in logged.summaries.items()
            if since < dialogue.time
        }
        return frozenset(dialogue.summaries.keys() - known)

    def _leaking_records(self, dialogue: LoggedDialogue, name: str, new_summaries: frozenset[str]) -> tuple[str, ...]:
        """Return ids of records from before a dialogue that hold its summary, or were drawn from later records."""
        before = self._before(dialogue, name)
        future = {record.memory.id for record in self.files.people[name].stream[len(before) :]}
        leaking = []
        for record in before:
            if _mentions(record.memory.text, new_summaries) or not future.isdisjoint(record.evidence):
                leaking.append(record.memory.id)
                future.add(record.memory.id)
        return tuple(leaking)

    def _last_action(self, dialogue: LoggedDialogue, name: str, new_summaries: frozenset[str]) -> Action | None:
        """Return a person's last action before a dialogue, from the movement file, passing over the dialogue itself."""
        actions = self.files.people[name].actions
        spoken = [[line.speaker, line.text] for line in dialogue.utterances]
        for action in reversed(actions[: bisect_left(actions, dialogue.time, key=lambda action: action.since)]):
            if action.activity and action.chat != spoken and not _mentions(action.activity, new_summaries):
                return action
        return None

    def _last_event_of_self(self, dialogue: LoggedDialogue, name: str) -> str | None:
        """Return a person's last activity before a dialogue, from the events that they remember of themselves."""
        for record in reversed(self._before(dialogue, name)):
            is_own = record.memory.kind == "event" and record.subject == name
            if is_own and record.predicate not in self._chat_predicates and not (record.is_idle or record.is_made_up):
                return activity_in(record.memory.text, name) or None
        return None

    def _place(self, dialogue: LoggedDialogue, action: Action | None) -> tuple[str | None, list[str]]:
        """Return the place of the two, and notes on the unknown parts of it.

        The address of an activity is the intended place, and a person on the way there is elsewhere: an
        observation is better evidence, for people see only things in their room, and the two are in the same room.
        Older observations must agree with the activity; otherwise only its building is sure.
        """
        intended = address_in_words(action.address) if action else None
        seen = [r for name in dialogue.pair for r in self._before(dialogue, name) if ":" in r.subject]
        if not seen:
            return intended, [] if intended else ["where they are: nothing from before says so"]
        latest = max(seen, key=lambda record: record.memory.created)
        room = address_in_words(latest.subject)
        building = ":".join(latest.subject.split(":")[:2])
        is_fresh = dialogue.time - latest.memory.created <= FRESH
        if is_fresh or room == intended or len(self.files.rooms.get(building, ())) == 1:
            return room, []
        return address_in_words(building), [
            f"the room at {address_in_words(building)}: what was seen last is too long ago"
        ]

    def _withheld(
        self, dialogue: LoggedDialogue, name: str, leaking: tuple[str, ...], activity: str | None
    ) -> list[str]:
        notes = []
        if fields := self.files.people[name].end_of_run:
            notes.append(f"{', '.join(fields)} of {name}: the run holds them as of its end")
        if leaking:
            notes.append(f"{', '.join(leaking)} in the memory of {name}: from before, yet about this very conversation")
        if made_up := sum(record.is_made_up for record in self._before(dialogue, name)):
            notes.append(f"{counted(made_up, 'record')} of {name}: {MADE_UP}")
        if activity is None:
            notes.append(f"what {name} was doing: nothing from before says so")
        return notes


def read_log(folder: Path) -> Log:
    """Read the dialogues of a run folder, perhaps none; errors as for `read_run`."""
    files = read_run(folder)
    skipped: Counter[str] = Counter(without_text=0, partner_without_folder=0)
    found: dict[tuple[tuple[str, str], tuple[Utterance, ...]], list[StreamRecord]] = {}
    for owner, person in files.people.items():
        for record in person.stream:
            if record.memory.kind != "chat":
                continue
            first, second = sorted((record.subject, record.object))
            if not record.utterances:
                skipped["without_text"] += 1
            elif first not in files.people or second not in files.people:
                skipped["partner_without_folder"] += 1
            else:
                _require_pair(folder, owner, record, (first, second))
                found.setdefault(((first, second), record.utterances), []).append(record)
    dialogues = [_dialogue_of(pair, utterances, records) for (pair, utterances), records in found.items()]
    ordered = sorted(dialogues, key=lambda d: (d.time, d.pair, [(u.speaker, u.text) for u in d.utterances]))
    return Log(folder=folder, files=files, dialogues=tuple(ordered), skipped=dict(skipped))


def _dialogue_of(
    pair: tuple[str, str], utterances: tuple[Utterance, ...], records: list[StreamRecord]
) -> LoggedDialogue:
    oldest_first = sorted(records, key=lambda record: record.memory.created)
    summaries: dict[str, datetime] = {}
    for record in oldest_first:
        if summary := record.memory.text.strip():
            summaries.setdefault(summary, record.memory.created)
    return LoggedDialogue(oldest_first[0].memory.created, pair, utterances, summaries)


def _require_pair(folder: Path, owner: str, record: StreamRecord, pair: tuple[str, str]) -> None:
    place = f"{folder / 'personas' / owner}: {record.memory.id}"
    if pair[0] == pair[1]:
        raise ScenarioError(f"{place}: object: a chat of {pair[0]!r} with themselves")
    first = record.utterances[0].speaker
    if first not in pair:
        raise ScenarioError(f"{place}: filling: the first speaker {first!r} is neither {pair[0]!r} nor {pair[1]!r}")


def _mentions(text: str, summaries: frozenset[str]) -> bool:
    return any(summary in text for summary in summaries)
