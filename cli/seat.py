"""A seat for a person: what they are asked on standard error, and what they answer, read from standard input.

1. At a terminal they type, edit and paste; all lines of a paste are one answer. From a pipe, a line is an answer.
2. The end of the input, and `/leave`, leave the conversation: the run is interrupted and can be resumed.
"""

import asyncio
import os
import select
import shlex
import sys
import threading
import time
from contextlib import suppress
from typing import TextIO

from rich.text import Text

from cli.lines import clock, print_turn
from cli.output import plain, progress
from state.contracts import Start
from state.errors import NotFoundError, UsageError
from state.meeting import Attendee
from state.parameters import Parameters
from state.records import RunRecord
from state.seat import LONGEST, Answer, Invitation, in_one_line

#: Bytes of an answer that are kept while the rest is read and dropped.
_KEPT = 65_536

#: How long a terminal is quiet when nothing more is pasted.
_QUIET_S = 0.05

#: Leave the conversation; stay silent, though words are kept from the round before.
_LEAVE, _PASS = "/leave", "/pass"


def with_seat(parameters: Parameters, seat: str | None, start: Start) -> Parameters:
    """Return the parameters with the seat under its name in the scenario.

    Args:
        parameters: They may have a seat themselves.
        seat: What was given for it, if anything: a name, or a first name that only one of them has.
        start: Who takes part.

    Raises:
        NotFoundError: Nobody of that name takes part, or several do.
    """
    given = seat if seat is not None else parameters.seat
    if given is None:
        return parameters
    whole = [name for name in start.names if _is_same(name, given)]
    first = [name for name in start.names if _is_same(name.split()[0], given)]
    for named in (whole, first):
        if len(named) == 1:
            return parameters.model_copy(update={"seat": named[0]})
    several = "several are called that" if first else "nobody of that name takes part"
    raise NotFoundError(f"--seat {given}: {several}; there are {', '.join(start.names)}")


def _is_same(name: str, given: str) -> bool:
    return name.casefold() == given.strip().casefold()


def check_seat(seat: str | None, record: RunRecord) -> None:
    """Refuse another seat than a run has: its turns were made with that one.

    Raises:
        UsageError: It is another one.
    """
    own = record.parameters.get("seat")
    if seat is None or (own is not None and _is_same(str(own), seat)):
        return
    has = "has no seat for a person" if own is None else f"has the seat of {own}"
    raise UsageError(
        f"--seat {seat}: run {record.run} {has}; to go on with another one, fork it: "
        f"polylogue fork {record.run} --at {record.turns + 1} --seat {shlex.quote(seat)}"
    )


class Seat:
    """A person at the keyboard. `ask` is what `graphs.driving.drive` asks them with."""

    def __init__(self, start: Start, tells_turns: bool) -> None:
        """Take the seat.

        Args:
            start: What the run starts from.
            tells_turns: Whether they see every turn anyway; else the last ones are told with each question.
        """
        self._start, self._tells_turns = start, tells_turns
        self._keyboard = Keyboard(sys.stdin)
        self._is_new = True
        self._told = -1

    async def ask(self, invitation: Invitation) -> Answer | None:
        """Return what they answer, and how long they took; `None` where they leave."""
        self._tell(invitation)
        took_s = 0.0
        while True:
            self._prompt()
            line, seconds = await self._keyboard.line()
            took_s += seconds
            words = None if line is None else in_one_line(line)
            if words is None or words == _LEAVE:
                return None
            if problem := _problem(words, invitation):
                progress().print(plain(problem, "yellow"))
                continue
            if len(words) > LONGEST:
                progress().print(plain(f"that was long: its first {LONGEST} characters are taken", "yellow"))
            said = "" if words == _PASS else words or invitation.kept or ""
            return Answer(words=said, seconds=took_s)

    def _tell(self, invitation: Invitation) -> None:
        console = progress()
        if self._is_new:
            console.print(plain(role_of(invitation.agent, self._start), "dim"))
            self._is_new = False
        if invitation.again:
            console.print(plain("nobody else can speak now: type something", "yellow"))
            return
        if not self._tells_turns:
            for turn in invitation.lines:
                if turn.turn > self._told:
                    print_turn(console, turn, self._start)
            self._told = invitation.turn - 1
        hints = [f"{_LEAVE}: go on another time"]
        if invitation.kept:
            console.print(Text.assemble(("you did not get the floor for: ", "dim"), plain(invitation.kept)))
            hints = ["Enter: say it now", f"{_PASS}: drop it", *hints]
        elif invitation.may_pass:
            hints = ["Enter: stay silent", *hints]
        when = f", turn {invitation.turn}, {clock(invitation.sim_time_s, self._start).split()[0]}"
        asked = Text.assemble(plain(invitation.agent, "bold"), when, (f" ({'; '.join(hints)})", "dim"))
        console.print(asked)

    def _prompt(self) -> None:
        if self._keyboard.is_terminal:
            progress().print(Text("> ", "bold green"), end="")


def role_of(name: str, start: Start) -> str:
    """Return in a line who somebody is in a conversation, and what they want."""
    one = start.participant(name)
    said = [one.persona.background, one.persona.traits, one.activity]
    wants = []
    if isinstance(one, Attendee):
        said.append(one.setting)
        wants = [goal.text for goal in one.goals]
    about = "; ".join(text.strip().rstrip(".") for text in said if text)
    wanted = f" You want: {'; '.join(wants)}." if wants else ""
    return f"You are {name}{f': {about}' if about else ''}.{wanted}"


def _problem(words: str, invitation: Invitation) -> str | None:
    """Return what is wrong with what was typed: it looks like a command, and is none here."""
    if not words.startswith("/") or " " in words or (words == _PASS and invitation.may_pass):
        return None
    known = f"{_LEAVE} or {_PASS}" if invitation.may_pass else _LEAVE
    return f"there is no {words[:20]} here; type {known}, or what you want to say"


class Keyboard:
    """Standard input, read in a thread of its own: the conversation goes on meanwhile, and Ctrl-C is heard."""

    def __init__(self, file: TextIO | None) -> None:
        """Note the file; `None` where the process has no standard input, which has ended then."""
        self._file = file
        self._ahead = bytearray()
        self.is_terminal = file is not None and file.isatty()

    async def line(self) -> tuple[str | None, float]:
        """Return the next line, `None` at the end of the input, and how many seconds it took to come."""
        loop = asyncio.get_running_loop()
        come: asyncio.Future[tuple[str | None, float]] = loop.create_future()

        def tell(line: str | None, seconds: float) -> None:
            if not come.done():
                come.set_result((line, seconds))

        def read() -> None:
            begun = time.perf_counter()
            try:
                line = self._line()
            except OSError:  # the terminal is gone
                line = None
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(tell, line, time.perf_counter() - begun)

        # Not the loop's executor: it would be waited for when the run is interrupted. A daemon that reads the
        # descriptor itself holds no lock of Python's files when the process ends.
        threading.Thread(target=read, daemon=True).start()
        return await come

    def _line(self) -> str | None:
        if self._file is None:
            return None
        line = bytearray()
        while True:
            read, newline, rest = self._ahead.partition(b"\n")
            line += read[: _KEPT - len(line)]
            self._ahead = rest
            if newline:
                break
            self._ahead = bytearray(os.read(self._file.fileno(), _KEPT))
            if not self._ahead:
                if not line:
                    return None
                break
        if self.is_terminal:
            line += b" " + self._pasted()
        return line.decode(errors="replace")

    def _pasted(self) -> bytes:
        """Return what else the terminal holds: further lines of what was pasted, the last one perhaps unfinished."""
        import termios

        assert self._file is not None
        terminal, pasted = self._file.fileno(), bytearray()
        before = termios.tcgetattr(terminal)
        unbuffered = termios.tcgetattr(terminal)
        unbuffered[3] &= ~termios.ICANON
        unbuffered[6][termios.VMIN], unbuffered[6][termios.VTIME] = 1, 0
        termios.tcsetattr(terminal, termios.TCSANOW, unbuffered)
        try:
            while select.select([terminal], [], [], _QUIET_S)[0]:
                read = os.read(terminal, _KEPT)
                if not read:
                    break
                pasted += read[: _KEPT - len(pasted)]
        finally:
            termios.tcsetattr(terminal, termios.TCSANOW, before)
        return bytes(pasted)
