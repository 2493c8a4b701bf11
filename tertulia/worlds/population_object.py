"""Populations of album chats as objects of Python, as a file of villagers describes them."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import yaml
from pydantic import ConfigDict, model_validator

from tertulia.state import album as records
from tertulia.state.errors import ScenarioError, SettingError
from tertulia.state.parameters import ALBUM_CHAT
from tertulia.state.parameters.album import AlbumParameters
from tertulia.state.wrong_arguments import path_of, with_named_arguments
from tertulia.state.wrong_values import shown
from tertulia.worlds.people import Person, plain, validated_in_words
from tertulia.worlds.pictures import split_caption
from tertulia.worlds.scenario_object import PREFIX, ScenarioObject, write_file
from tertulia.worlds.scenario_objects import PlainDumper
from tertulia.worlds.villagers_file import AlbumEntry, Role, VillagerEntry, VillagersFile, read_villagers, villagers_of


class Villager(VillagerEntry):
    """A villager of an album chat.

    ::

        tertulia.Villager(name="Ada Byrne", properties={"Trade": "baker"}, album=["a lighthouse: at dusk", "an oar"])

    Attributes:
        properties: Their characteristics, by the name of a property.
        album: Their pictures: a caption, `caption: variant`, the file of a picture, or a mapping of `caption`,
            `variant` and `file`.

    Raises:
        ScenarioError: A field is missing, unknown, or has a value that it can't have.
    """

    if not TYPE_CHECKING:  # checkers know the fields

        def __new__(cls, *given: Any, **fields: Any) -> Self:
            """Refuse values without the names of their fields."""
            if given:
                raise ScenarioError(f"Villager: takes its fields by name: Villager(name={shown(given[0])}, …)")
            return super().__new__(cls)

    model_config = ConfigDict(defer_build=True)

    @model_validator(mode="wrap")
    @classmethod
    def _in_words(cls, values: Any, validated: Callable[[Any], Self]) -> Self:
        """Describe the faults of the values in words, as of a file."""
        return validated_in_words(cls, values, validated, {"; that is a field of tertulia.Person": Person})


class Population(ScenarioObject):
    """The villagers of an album chat as an object, as a file of villagers describes them.

    ::

        people = [tertulia.Villager(name=name, album=[f"the boat of {name}"]) for name in ("Ada", "Bo", "Cleo", "Dov")]
        run = tertulia.run(tertulia.Population(people, title="The harbour"), rounds=2)

    Attributes:
        file: The file that it was read from, as it was named; `None` for one that is in none.
    """

    @with_named_arguments
    def __init__(
        self,
        villagers: Iterable[Villager | Mapping[str, Any]] = (),
        *,
        title: str | None = None,
        time: datetime | str | None = None,
        place: str | None = None,
        folder: Path | str = ".",
        **fields: Any,
    ) -> None:
        """Make a population of two or more villagers, which meet in pairs.

        Args:
            villagers: They, or an iterable that yields them; mappings have the fields of a file's.
            title: Its name.
            time: When they meet, local time.
            place: Their meeting place.
            folder: The folder of the picture files in albums.
            fields: None: any other argument is refused in words.

        Raises:
            ScenarioError: A field is missing, unknown, or not acceptable; the words are those about a file.
            SettingError: The folder is no path.
        """
        if isinstance(villagers, Villager | str | bytes | Mapping) or not isinstance(villagers, Iterable):
            raise ScenarioError(f"Population: villagers: takes a list of villagers: {shown(villagers)}")
        people: list[Any] = list(villagers)
        if person := next((person for person in people if isinstance(person, Person)), None):
            made = f"Villager(name={shown(person.name)}, properties={{…}}, album=[…])"
            raise ScenarioError(f"Population: villagers: takes villagers, not a Person: tertulia.{made}")
        given = {"title": title, "time": time, "place": place, **fields, "villagers": people}
        values = {name: plain(value) for name, value in given.items() if value is not None}
        label = Path(f"Population {shown(title)}" if isinstance(title, str) else "Population")
        content = villagers_of(label, values, Path(path_of("folder", folder)).expanduser())
        if len(people) < 2:
            raise ScenarioError(f"{label}: villagers: takes two or more, who meet in pairs, not {len(people)}")
        self._take(content, None)

    def _take(self, content: VillagersFile, file: str | None) -> None:
        self._content, self.file, self.is_users = content, file, file is None

    @classmethod
    @with_named_arguments
    def read(cls, path: Path | str) -> Self:
        """Read a file of villagers, of the project's own format or the public one (docs/albums.md).

        Raises:
            NotFoundError: There is no such file.
            ScenarioError: It can't be read as one; the message names file, villager and field.
            SettingError: The path is none.
        """
        found = object.__new__(cls)
        found._take(read_villagers(Path(path_of("path", path)).expanduser()), os.fspath(path))
        return found

    @property
    def name(self) -> str:
        """Its name."""
        return self._content.title or self._content.path.stem

    @property
    def villagers(self) -> tuple[Villager, ...]:
        """The villagers, in order."""
        return tuple(Villager(**_values_of(role)) for role in self._content.roles)

    @property
    def named(self) -> frozenset[str]:
        """No models: villagers have none of their own."""
        return frozenset()

    def settings(self) -> dict[str, Any]:
        """Return the parameters that it sets: those of album chats."""
        return dict(ALBUM_CHAT)

    def start(
        self, mechanisms: Collection[str] | None, parameters: AlbumParameters, pictures: MutableMapping[str, bytes]
    ) -> records.Population:
        """Return the start of a run (see `ScenarioObject.start`)."""
        from tertulia.worlds.villagers import population_of  # takes numpy and Pillow

        if parameters.villagers is not None:
            raise SettingError("villagers", parameters.villagers, ": they are those of the Population; leave it out")
        return population_of(self.file or f"{PREFIX}{self.name}", self._content, parameters, pictures)

    def extensions(self) -> tuple[str, ...]:
        """Return no extensions: a file of villagers names none."""
        return ()

    def yaml(self) -> str:
        """Return it as the text of a file of villagers in the folder of its pictures."""
        return self._text(self._content.folder)

    @with_named_arguments
    def write(self, path: Path | str, overwrite: bool = False) -> Path:
        """Write a file of villagers, for `tertulia run villagers --set villagers=FILE`, and return its path.

        Runs of it have that name now.

        Raises:
            UsageError: There is such a file, or it can't be written.
        """
        text = self._text(Path(path_of("path", path)).expanduser().parent)
        file = write_file(path, text, overwrite)
        self.file = os.fspath(path)
        return file

    def _text(self, folder: Path) -> str:
        content = self._content
        moved = None if folder.absolute() == content.folder.absolute() else folder
        values = {
            "title": content.title,
            "time": None if content.time is None else str(content.time),
            "place": content.place,
            "villagers": [_values_of(role, content.folder, moved) for role in content.roles],
        }
        given = {name: value for name, value in values.items() if value is not None}
        return yaml.dump(given, Dumper=PlainDumper, sort_keys=False, allow_unicode=True, width=110)

    def __eq__(self, other: object) -> bool:
        """Return whether the other describes the same, from any source."""
        return isinstance(other, Population) and self._text(Path()) == other._text(Path())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return its kind, its name and its villagers."""
        names = [role.name for role in self._content.roles]
        others = f" and {len(names) - 6} more" if len(names) > 6 else ""
        return f"<Population {self.name!r}: {', '.join(names[:6])}{others}>"


def _values_of(role: Role, folder: Path = Path(), moved: Path | None = None) -> dict[str, Any]:
    """Return a villager as a file has them; picture names are relative to the new folder of the file."""
    values = {"name": role.name, "properties": dict(role.properties), "album": [*_album(role.album, folder, moved)]}
    return {name: value for name, value in values.items() if value}


def _album(album: Iterable[AlbumEntry], folder: Path, moved: Path | None) -> Iterator[str | dict[str, str]]:
    for entry in album:
        file = entry.file and (entry.file if moved is None else os.path.relpath(folder / entry.file, moved))
        words = ": ".join(filter(None, (entry.caption, entry.variant)))
        if file is None and split_caption(words) == (entry.caption, entry.variant):
            yield words
        else:
            named = {"file": file, "caption": entry.caption, "variant": entry.variant}
            yield {name: value for name, value in named.items() if value is not None}
