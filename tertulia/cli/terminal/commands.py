"""Register commands: errors name options as they were typed and show an example, pipes end quietly."""

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from copy import copy
from inspect import cleandoc
from types import ModuleType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tertulia.cli.terminal.output import discard_output, terms_explained
from tertulia.state.errors import SettingError, UsageError

#: The options of parameters with other names.
OPTIONS = {"removal_factor": "--lambda", "max_turns": "--rounds", "max_minutes": "--minutes"}

#: The names that commands give to the values of an option that takes several.
_SEVERAL = {"removal_factor": ("lambdas",)}

#: Remedies in messages that name parameters.
_SET = re.compile(r"(?<![-\w])(set|or|use|give) ([a-z_.]+)=([\w.-]+)")
#: Remedies in messages that name Python arguments; nothing else is replaced, as a message may quote a user.
_REMEDY = re.compile(
    r"\b(?:(store|remember|forget)=…|(model)='(smollm2)'|(extension)s=\['([^']*)'\]"
    r"|(price)s=\{'([^']*)': \(2\.5, 10\)\})"
)


#: The error for a command line that can't be parsed: versions of typer name it differently, or not at all.
ParsingError: Any = typer.BadParameter.__mro__[2]


class Command(TyperCommand):
    """A command that explains usage errors, ends quietly if its output is closed, and on request explains terms."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for of_json in [option for option in self.params if "--json" in option.opts]:
            explain: Any = copy(of_json)
            explain.name, explain.opts = "explain", ["--explain"]
            explain.help = "Print a sentence on each term of the output, at its end."
            self.params.insert(self.params.index(of_json) + 1, explain)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command."""
        explains = ctx.params.pop("explain", False)
        with _errors_explained(ctx):
            if explains and ctx.params.get("as_json"):
                raise UsageError("--explain is for people, and --json for programs: leave out one of them")
            with terms_explained() if explains else nullcontext():
                return super().invoke(ctx)


class Group(TyperGroup):
    """A group of commands that behaves like `Command`."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the group's own command, or one of its commands."""
        with _errors_explained(ctx):
            return super().invoke(ctx)

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write the first paragraph of each command's help under the heading of its panel."""
        panels: dict[str, list[tuple[str, str]]] = {}
        width = max(map(len, self.commands))
        for name in self.list_commands(ctx):
            command = self.commands[name]
            panel = getattr(command, "rich_help_panel", None)
            row = (name.ljust(width), " ".join(cleandoc(command.help or "").partition("\n\n")[0].split()))
            panels.setdefault(panel if isinstance(panel, str) else "Commands", []).append(row)
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


@contextmanager
def _errors_explained(ctx: typer.Context) -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        end_quietly()
    except UsageError as error:
        if ctx.invoked_subcommand is None:
            explain(error, ctx.params)
        raise


def add(app: typer.Typer, command: Callable[..., None], name: str | None = None, panel: str | None = None) -> None:
    """Add a command to a group of commands, or to the whole command line, under a heading of its help."""
    app.command(name, cls=Command, rich_help_panel=panel)(command)


def add_module(app: typer.Typer, module: ModuleType, name: str, panel: str) -> None:
    """Add a module's command, or group of commands, of that name."""
    command = getattr(module, name)
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name, rich_help_panel=panel)
    else:
        add(app, command, name, panel)


def end_quietly() -> None:
    """Exit with 0, as the reader of standard output has seen enough: `tertulia runs | head`."""
    discard_output()
    raise typer.Exit(0)


def explain(error: UsageError, given: Mapping[str, Any]) -> None:
    """Change the message of an error: name options as they were typed, and parameters as they can be typed.

    Args:
        given: The values of the command's parameters, by name.
    """
    message = as_typed(error, given) if isinstance(error, SettingError) else str(error)
    error.args = (_as_options(message, given) if type(error) in (UsageError, SettingError) else message,)


def _as_options(message: str, given: Mapping[str, Any]) -> str:
    """Return a message whose remedies, such as `set judge=off`, are options of the command."""

    from tertulia.state.parameters import ALIASES, SETTABLE

    def option(remedy: re.Match[str]) -> str:
        verb, name, value = remedy.groups()
        typed = option_of(ALIASES.get(name, name), given)
        if typed is None and "settings" in given and (name in SETTABLE or name.startswith("nodes.")):
            return f"{'give' if verb == 'set' else verb} --set {name}={value}"
        return remedy[0] if typed is None else f"{'give' if verb == 'set' else verb} {typed} {value}"

    return _SET.sub(option, message)


def as_typed(error: SettingError, given: Mapping[str, Any]) -> str:
    """Return the message with the option that set the value, if one did: `--lambda 1.5: …`, `--set lambda=1.5: …`."""
    from tertulia.state.parameters import ALIASES

    setting = ALIASES.get(error.setting, error.setting)
    option = option_of(setting, given)
    typed = next((given[name] for name in _names_of(setting) if given.get(name) is not None), None)
    if option is not None and typed is not None:
        return f"{option} {f'{typed:g}' if isinstance(typed, float) else shlex.quote(str(typed))}{error.problem}"
    for assigned in reversed(given.get("settings") or ()):
        key = assigned.partition("=")[0].strip()
        if ALIASES.get(key, key) == setting:
            return f"--set {shlex.quote(assigned)}{error.problem}"
    if option is not None and setting in OPTIONS:
        return f"{option} {error.value} (not given here){error.problem}"
    return str(error)


def option_of(setting: str, given: Mapping[str, Any]) -> str | None:
    """Return the option of a command that sets a parameter, or `None` without one."""
    option = OPTIONS.get(setting, f"--{setting.replace('_', '-')}")
    return option if any(name in given for name in _names_of(setting)) else None


def _names_of(setting: str) -> tuple[str, ...]:
    """Return the names that a command may give to the value of a parameter."""
    return setting, OPTIONS.get(setting, setting).removeprefix("--").replace("-", "_"), *_SEVERAL.get(setting, ())


def with_options(message: str) -> str:
    """Return a message with options in place of the Python arguments that its remedy names."""

    def option(remedy: re.Match[str]) -> str:
        name, *value = (part for part in remedy.groups() if part is not None)
        value = [f"{model}=2.5,10" for model in value] if name == "price" else value
        return " ".join([f"--{name}", *map(shlex.quote, value)])

    return _REMEDY.sub(option, message)
