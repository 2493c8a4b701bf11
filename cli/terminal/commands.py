"""Registering commands: messages name options as they were typed, usage errors show the example, pipes end quietly."""

import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from state.errors import UsageError

#: Parameters of a run that have an option of another name.
OPTIONS = {"removal_factor": "--lambda", "max_turns": "--rounds", "max_minutes": "--minutes"}

_EXAMPLE = re.compile(r"^\s*Example: (.+)$", re.MULTILINE)

#: How a complaint about the value of a parameter begins.
_SETTING = re.compile(r"([\w.]+)=")


class Command(TyperCommand):
    """A command whose errors show how it is used, and which ends quietly where nobody reads on."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            end_quietly()
        except UsageError as error:
            explain(error, self.help, ctx.params)
            raise
        return result


class Group(TyperGroup):
    """A group of commands whose own command, if it has one, behaves as `Command` does."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the group's own command, or one of its commands."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            end_quietly()
        except UsageError as error:
            if ctx.invoked_subcommand is None:
                explain(error, self.help, ctx.params)
            raise
        return result


def add(app: typer.Typer, command: Callable[..., None], name: str | None = None) -> None:
    """Add a command to a group of commands, or to the whole command line."""
    app.command(name, cls=Command)(command)


def end_quietly() -> None:
    """End with 0, as who reads standard output has seen enough: `tertulia runs | head`.

    Raises:
        typer.Exit: Always.
    """
    # What is still to be written goes nowhere; Python would complain of it when the process ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(0)


def explain(error: UsageError, help: str | None, given: Mapping[str, Any]) -> None:
    """Name options in the message of an error as they were typed, and add the example of the command.

    Args:
        error: The error; its message is changed. One about a file that was given has no example.
        help: The help of the command.
        given: The values of its parameters, by name.
    """
    message = as_typed(str(error), given)
    example = example_of(help)
    if example is not None and type(error).__name__ in ("UsageError", "SettingError"):
        message = f"{message}; for example: {example}"
    error.args = (message,)


def as_typed(message: str, given: Mapping[str, Any]) -> str:
    """Return a message about the value of a parameter with the option that set it: `--lambda 1.5`, `--set lambda=1.5`.

    Args:
        message: A message; one that does not begin with `PARAMETER=VALUE` stays as it is.
        given: The values of a command's parameters, by name.
    """
    match = _SETTING.match(message)
    if match is None:
        return message
    name = match.group(1)
    option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
    argument = option.removeprefix("--").replace("-", "_")
    if given.get(name) is not None or given.get(argument) is not None:
        return f"{option} {message[match.end() :]}"
    for setting in given.get("settings") or ():
        key, _, value = str(setting).partition("=")
        if value and message[match.end() :].startswith(value.strip()) and _is_alias(key.strip(), name):
            return f"--set {key.strip()}={message[match.end() :]}"
    return message


def _is_alias(key: str, name: str) -> bool:
    from state.parameters import ALIASES

    return ALIASES.get(key, key) == name


def example_of(help: str | None) -> str | None:
    """Return the example in the help of a command."""
    match = _EXAMPLE.search(help or "")
    return match.group(1).strip() if match else None


def usage_hint(error: typer.TyperException) -> str:
    """Return where to read on after an error of parsing: the example of the command, or the help."""
    context = getattr(error, "ctx", None)
    example = example_of(context.command.help) if context is not None else None
    return f" (for example: {example})" if example else " (see `tertulia --help`)"
