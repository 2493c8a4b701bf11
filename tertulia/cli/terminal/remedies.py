"""Remedies for a command that can't be parsed, if possible with a command to copy."""

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from tertulia.state.errors import meant_number, nearest_hint, nearest_of
from tertulia.state.wrong_values import value_problem

#: The names of our commands in other programs; one of two words is another command's.
_COMMANDS = {
    **dict.fromkeys(("list", "ls", "history", "log"), "runs"),
    **dict.fromkeys(("start", "new", "chat", "begin"), "run"),
    **dict.fromkeys(("branch", "what_if"), "fork"),
    **dict.fromkeys(("continue", "restart"), "resume"),
    **dict.fromkeys(("open", "serve", "web", "ui"), "view"),
    **dict.fromkeys(("print", "cat", "read"), "show"),
    **dict.fromkeys(("find", "grep"), "search"),
    **dict.fromkeys(("config", "parameters", "set"), "settings"),
    **dict.fromkeys(("remove", "rm", "delete"), "runs rm"),
    **{"compare": "diff", "measure": "metrics", "town": "simulate", "experiments": "lab list", "help": "--help"},
}
#: The names of our options in other programs.
_OPTIONS = {
    **dict.fromkeys(("--turns", "--max-turns", "--max-rounds", "--steps", "--length"), "--rounds"),
    **dict.fromkeys(("--removal-factor", "--λ", "-l"), "--lambda"),
    **dict.fromkeys(("--param", "--parameter", "--set", "setting=-s"), "--set"),
    **{"--db": "--store", "--database": "--store", "--title": "--label", "-m": "--model"},
}
_EXAMPLE = re.compile(r"^\s*Example: (.+)$", re.MULTILINE)


def explained(error: Any, arguments: Sequence[str]) -> str:
    """Return the message of a parsing error with the given words, the remedy, and often the command that was meant.

    Args:
        arguments: All that was typed after the program's name.
    """
    context, cause = getattr(error, "ctx", None), error.__cause__
    if context is None:
        return f"{error.format_message().rstrip('.')}{_see(arguments[:1])}"
    path = context.command_path.split()[1:]
    if (option := getattr(error, "option_name", None)) is not None:
        meant = _option_meant(option, context.command)
        return f"No such option: {option}{_try(arguments, option, meant) if meant else _see(path)}"
    parameter = getattr(error, "param", None)
    if isinstance(cause, ValidationError) and parameter is not None:
        details = cause.errors()[0]
        given, is_option = details["input"], parameter.param_type_name == "option"
        named = parameter.opts[0] if is_option else parameter.metavar
        shown = shlex.quote(given) if isinstance(given, str) else str(given)
        problem = f"{named} {shown}: {value_problem(details)}"
        meant = meant_number(given)
        return f"{problem.partition(' (did you mean')[0]}{_try(arguments, given, meant)}" if meant else problem
    if parameter is not None:  # it is missing
        example = example_of(context.command.help)
        return f"{error.format_message()}{f' (for example: {example})' if example else _see(path)}"
    if unknown := re.match(r"No such command '(.*?)'\.", error.format_message()):
        return f"No such command {unknown[1]!r}{_command_meant(unknown[1], path, context.command, arguments)}"
    return f"{error.format_message().rstrip('.')}{_see(path)}"


def example_of(help: str | None) -> str | None:
    """Return the example in the help of a command."""
    match = _EXAMPLE.search(help or "")
    return match.group(1).strip() if match else None


def _see(path: Iterable[str]) -> str:
    return f"; see `{shlex.join(['tertulia', *path, '--help'])}`"


def _try(arguments: Sequence[str], typed: str, meant: str) -> str:
    """Return the question whether this was meant: the command with `meant` in place of `typed`."""
    words: list[str] = []
    for argument in arguments:
        if argument == typed:
            words += [meant]
        elif argument.startswith(f"{typed}="):
            words += [meant, argument.removeprefix(f"{typed}=")]
        elif argument.endswith(f"={typed}"):
            words += [argument.removesuffix(typed) + meant]
        else:
            words += [argument]
    command = shlex.join(["tertulia", *(word for part in words for word in part.split("\0") if word)])
    command = re.sub(r"--set ([a-z_.]+=) ", r"--set \1", command)
    return f"; did you mean: {command}"


def _option_meant(option: str, command: Any) -> str | None:
    """Return the option, or `--set NAME=`, that is most like one that a command does not have."""
    options: list[str] = [n for parameter in command.params for n in parameter.opts if n.startswith("--")]
    if (other := _OPTIONS.get(option)) is not None and other in options:
        return other
    bare = option.lstrip("-")
    if beginning := [name for name in options if len(bare) > 1 and name.startswith(f"--{bare}")]:
        return min(beginning, key=len)
    if "--set" in options and (name := _setting_meant(bare.replace("-", "_"))):
        return f"--{name}" if f"--{name}" in options else f"--set\0{name}="
    return nearest_of(option, options, 0.7) if len(bare) > 1 else None


def _setting_meant(name: str) -> str | None:
    from tertulia.state.parameters import SETTABLE

    if name in SETTABLE:
        return name
    beginning = [setting for setting in SETTABLE if len(name) > 3 and setting.startswith(name)]
    return min(beginning, key=len) if beginning else nearest_of(name, SETTABLE, 0.8)


def _command_meant(name: str, path: Sequence[str], group: Any, arguments: Sequence[str]) -> str:
    """Return the remedy for a command that does not exist, or not in this group."""
    if path:
        if _COMMANDS.get(name) == path[0]:  # `runs list`
            return f"; did you mean: {shlex.join(['tertulia', *path])}"
        known = list(group.commands)
        meant = nearest_of(name, known, 0.6)
        return _try(arguments, name, meant) if meant else f"{nearest_hint(name, known)}{_see(path)}"
    meant = nearest_of(name, [*group.commands, *_COMMANDS], 0.6)
    return _try(arguments, name, _COMMANDS.get(meant, meant).replace(" ", "\0")) if meant else _see(path)
