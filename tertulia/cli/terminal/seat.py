"""A seat for a person, asked on standard error and answering on standard input.

1. At a terminal all lines of a paste are one answer; from a pipe, a line is an answer.
2. The end of the input and `/leave` interrupt the run, which can be resumed.
"""

import sys

from rich.text import Text

from tertulia.cli.terminal.keyboard import Keyboard
from tertulia.cli.terminal.lines import print_turn
from tertulia.cli.terminal.output import plain, progress
from tertulia.runs.planning.seats import role_of
from tertulia.state.meeting import Start
from tertulia.state.seat import LONGEST, Answer, Invitation, in_one_line
from tertulia.views.wording.phrases import clock

#: Leave the conversation; stay silent, although words are kept from the round before.
_LEAVE, _PASS = "/leave", "/pass"


class Seat:
    """A person at the keyboard, asked by `ask`."""

    def __init__(self, start: Start, turns_are_shown: bool) -> None:
        """Take the seat; unless all turns are shown anyway, the last ones are printed with each question."""
        self._start, self._turns_are_shown = start, turns_are_shown
        self._keyboard = Keyboard(sys.stdin)
        self._told: set[str] = set()  # agents whose role has been printed
        self._last_shown = -1

    async def ask(self, invitation: Invitation) -> Answer | None:
        """Return the answer with its time; `None` if they leave."""
        self._print_invitation(invitation)
        took_s = 0.0
        while True:
            line, seconds = await self._line()
            took_s += seconds
            words = None if line is None else in_one_line(line)
            if words is None or words == _LEAVE:
                return None
            if problem := _problem(words, invitation):
                progress().print(plain(problem, "yellow"))
                continue
            if len(words) > LONGEST:
                progress().print(plain(f"that was long: its first {LONGEST} characters are taken", "yellow"))
            utterance = "" if words == _PASS else words or invitation.kept or ""
            return Answer(words=utterance, seconds=took_s)

    async def _line(self) -> tuple[str | None, float]:
        """Return the typed line and its time in seconds; further output begins on a new line."""
        if not self._keyboard.is_terminal:
            return await self._keyboard.line()
        progress().print(Text("> ", "bold green"), end="")
        is_unfinished = True
        try:
            line, seconds = await self._keyboard.line()
            is_unfinished = line is None or not line.endswith("\n")
            return line, seconds
        finally:
            if is_unfinished:
                progress().print()
            self._keyboard.restore()

    def _print_invitation(self, invitation: Invitation) -> None:
        if invitation.agent not in self._told:
            for line in role_of(invitation.agent, self._start):
                _print(plain(line, "dim"))
            self._told.add(invitation.agent)
        if invitation.again:
            _print(plain("nobody else can speak now: type something", "yellow"))
            return
        if not self._turns_are_shown:
            for turn in invitation.lines:
                if turn.turn > self._last_shown:
                    print_turn(progress(), turn, self._start)
            self._last_shown = invitation.turn - 1
        hints = [f"{_LEAVE}: go on another time"]
        if invitation.kept:
            _print(Text.assemble(("you did not get the floor for: ", "dim"), plain(invitation.kept)))
            hints = ["Enter: say it now", f"{_PASS}: drop it", *hints]
        elif invitation.may_pass:
            hints = ["Enter: stay silent", *hints]
        when = f", turn {invitation.turn}, {clock(invitation.sim_time_s, self._start).split()[0]}"
        _print(Text.assemble(plain(invitation.agent, "bold"), when, (f" ({'; '.join(hints)})", "dim")))


def _print(text: Text) -> None:
    console = progress()
    console.print(text, soft_wrap=not console.is_terminal)


def _problem(words: str, invitation: Invitation) -> str | None:
    """Return the problem with words that look like a command, and are none here."""
    if not words.startswith("/") or " " in words or (words == _PASS and invitation.may_pass):
        return None
    known = f"{_LEAVE} or {_PASS}" if invitation.may_pass else _LEAVE
    return f"there is no {words[:20]} here; type {known}, or what you want to say"
