"""`people`: import people from files of other programs, check where prompts show them, and export them."""

from pathlib import Path
from typing import Annotated

import typer

from tertulia.cli.environment import print_note
from tertulia.cli.options import JsonOption, NoStoreOption
from tertulia.cli.terminal.commands import Group, add
from tertulia.cli.terminal.output import plain, print_json, progress
from tertulia.cli.terminal.tables import print_columns
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.state.errors import SettingError, UsageError
from tertulia.state.text import clean, one_line, path_argument, shortened
from tertulia.state.written_files import refuse_link, write_lines
from tertulia.worlds.characters.draft import SHOWN, ImportedPerson

_NOTE = "Memories are taken as recalled; a meeting asks for descriptions, and for steps of goals, where there are none."

people = typer.Typer(
    cls=Group,
    help="Read people of other programs' files, and write them.\n\nExample: tertulia people import card.png",
    rich_markup_mode=None,
)

FilesArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="Cards (JSON, PNG, CHARX), lorebooks, TinyTroupe, Sotopia, SDialog, Generative Agents folders, tables, "
        "scenarios.",
    ),
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(metavar="TITLE=FIELD", help="A column of a table is this field; `TITLE=` leaves it out."),
]
UserOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The name for {{user}}; a person alone meets them. [Visitor]")
]


def import_people(
    files: FilesArgument,
    to: Annotated[Path | None, typer.Option(metavar="FILE.yaml", help="Write the scenario there.")] = None,
    user: UserOption = None,
    column: ColumnOption = None,
    store: NoStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a scenario of people in files, which `tertulia run` accepts; what is not taken is listed.

    Example: tertulia people import card.png --to wilma.yaml
    """
    from tertulia.worlds.characters.scenario import scenario_of
    from tertulia.worlds.scenario_object import write_file

    found = _read(files, column)
    text = scenario_of(found, user)
    if to is not None:
        write_file(to, text, overwrite=False)
    if as_json:
        document = {"schema_version": SCHEMA_VERSION, "people": [person.document() for person in found]}
        print_json(document | {"scenario": text, "file": str(to) if to else None})
        return
    if to is None:
        print(text, end="")
    _print_not_taken(found)
    names = ", ".join(person.values["name"] for person in found[:6])
    more = f" and {len(found) - 6} more" if len(found) > 6 else ""
    progress().print(plain(f"{'1 person' if len(found) == 1 else f'{len(found)} people'}: {names}{more}"))
    if len(found) > 2 and user is None and "the visitor" in text:
        print_note("{{user}} of the files is “the visitor”; --user NAME says who it is")
    if to is not None:
        progress().print(plain(f"set its time as you like, then talk with them: tertulia run {path_argument(str(to))}"))


def export_people(
    files: FilesArgument,
    format: Annotated[str, typer.Option(metavar="FORMAT", help="card_v3, csv or json.")] = "card_v3",
    to: Annotated[
        Path | None, typer.Option(metavar="FILE|FOLDER", help="Write there; of several cards, into the folder.")
    ] = None,
    column: ColumnOption = None,
    store: NoStoreOption = None,
) -> None:
    """Write people for other programs: a card of version 3 each, or a table of all.

    Example: tertulia people export people.yaml --format csv --to people.csv
    """
    from tertulia.worlds.characters.writing import card_files, written

    found = _read(files, column)
    if format == "card_v3" and to is not None and (to.is_dir() or len(found) > 1):
        texts: dict[Path | None, str] = {to / name: text for name, text in card_files(found).items()}
    else:
        texts = {to: written(found, format)}
    for file, text in texts.items():
        if file is None:
            print(text)
        else:
            _write_new(file, text)
            progress().print(plain(f"wrote {file}"))


def check_people(
    files: FilesArgument, column: ColumnOption = None, store: NoStoreOption = None, as_json: JsonOption = False
) -> None:
    """Show which prompts of which conversation show which field of these people.

    Example: tertulia people check wilma.png
    """
    from tertulia.runs.planning.shown_fields import KINDS, shown_fields
    from tertulia.worlds.characters.scenario import names_put
    from tertulia.worlds.people import as_persons

    people = names_put(_read(files, column), None)
    as_persons(people)
    found = [shown_fields(person.values) for person in people]
    if as_json:
        print_json(
            {"schema_version": SCHEMA_VERSION, "kinds": KINDS, "people": [person.document() for person in found]}
        )
        return
    for person in found:
        print(clean(person.name))
        rows = ([field, *(person.cell(field, kind) for kind in KINDS)] for field in person.texts)
        print_columns(("field", *KINDS), rows)
        print()
    progress().print(plain(_NOTE))


def _read(files: list[Path], columns: list[str] | None) -> tuple[ImportedPerson, ...]:
    from tertulia.worlds.characters.reading import joined, read_people

    by_title: dict[str, str | None] = {}
    for given in columns or ():
        title, sign, field = given.rpartition("=")
        if not sign or not title:
            raise UsageError(f"--column {given}: takes TITLE=FIELD, such as --column 'Full name=name'")
        by_title[title.strip()] = field.strip() or None
    try:
        found = joined([person for file in files for person in read_people(file, columns=by_title)])
    except SettingError as error:
        raise UsageError(f"--column {error.value}{error.problem}") from None
    for person in found:
        if person.kind == "a lorebook":
            print_note(f"{person.file} has no person: {person.values['name']!r} knows it; give a card beside it")
    return found


def _print_not_taken(found: tuple[ImportedPerson, ...]) -> None:
    for person in found:
        if person.not_taken:
            progress().print(plain(f"not taken of {person.values['name']}:"))
        for left in person.not_taken:
            value = shortened(one_line(left.value), 500 if left.goes_to == SHOWN else 60)
            progress().print(plain(f"  {left.field}: {value} ({left.goes_to})"))


def _write_new(file: Path, text: str) -> None:
    refuse_link(file)
    if file.exists():
        raise UsageError(f"{file} exists already; give another name")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_lines(file, [text.rstrip()])
    except OSError as error:
        raise UsageError(f"{file} can't be written: {error.strerror}") from None


add(people, import_people, "import")
add(people, check_people, "check")
add(people, export_people, "export")
