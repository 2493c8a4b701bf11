"""Read a file of villagers: the project's own format, or that of the public simulation of the pairwise album chat.

| file | kind |
|---|---|
| a name that ends in `.yaml` or `.yml` | YAML, as scenario files are |
| any other name | JSON |
| an entry with `Name` or `Furniture List` | a villager of the public format |
| any other entry | a villager of the project's own |
"""

import json
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from tertulia.state.errors import NotFoundError, ScenarioError
from tertulia.state.files import read_text
from tertulia.state.names import composed
from tertulia.state.wrong_values import shown
from tertulia.worlds.pictures import checked_text, is_picture, split_caption
from tertulia.worlds.scenario_parts import Part, Time
from tertulia.worlds.yaml_file import Problem, YamlFile

#: The largest JSON file of villagers that is read; 1,024 of them take 1 MB. A YAML file is limited as any scenario is.
MOST_BYTES = 64 * 10**6

#: An item of a furniture list: the caption, the variant, which of its pictures it is, the number, and a hash.
_ITEM = re.compile(r"(?P<caption>.+)_(?P<variant>[^_]*)_(?:[^_]* )?Image_\d+_[^_]+\.\w+")

#: The end of an item of a furniture list: a semicolon behind the ending of a file, as a caption may have one.
_BETWEEN = re.compile(r"(?<=\.png);", re.IGNORECASE)

#: How the two fields of the public format are called here.
_PUBLIC = {"Name": "name", "Furniture List": "album"}


@dataclass(frozen=True)
class AlbumEntry:
    """A picture as a file of villagers names it.

    Attributes:
        id: Its name: that of its file, or the caption with the variant.
        caption: `None` if the file of villagers has none.
        variant: Which of several it is.
        file: The picture's file, relative to the folder of the pictures.
    """

    id: str
    caption: str | None = None
    variant: str | None = None
    file: str | None = None


@dataclass(frozen=True)
class Role:
    """A villager as a file has them; the album may be empty, if pictures are to be dealt."""

    name: str
    properties: tuple[tuple[str, str], ...]
    album: tuple[AlbumEntry, ...]


@dataclass(frozen=True)
class VillagersFile:
    """A file of villagers.

    Attributes:
        is_public: Whether it is of the public format, whose pictures need not be there.
        folder: The folder of the picture files, unless another is given.
        title, time, place: Of the whole; `None` if the file has none.
    """

    path: Path
    roles: tuple[Role, ...]
    is_public: bool
    folder: Path
    title: str | None = None
    time: datetime | None = None
    place: str | None = None


def _read_value(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return checked_text(value)


def _read_entry(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = checked_text(value)
    if is_picture(text):
        return {"file": text}
    caption, variant = split_caption(text)
    return {"caption": caption, "variant": variant}


_Text = Annotated[str, BeforeValidator(checked_text)]


class _Entry(Part):
    file: Annotated[_Text, AfterValidator(os.path.normpath)] | None = None
    caption: _Text | None = None
    variant: _Text | None = None


class VillagerEntry(Part):
    """A villager as a file of the project's own has them."""

    name: Annotated[_Text, AfterValidator(composed)]
    properties: dict[_Text, Annotated[str, BeforeValidator(_read_value)]] = Field(default={})
    album: tuple[Annotated[_Entry, BeforeValidator(_read_entry)], ...] = ()


class _File(Part):
    title: _Text | None = None
    time: Time | None = None
    place: _Text | None = None
    villagers: tuple[VillagerEntry, ...]


def read_villagers(path: Path) -> VillagersFile:
    """Return the villagers of a file.

    Raises:
        NotFoundError: There is no such file.
        ScenarioError: It can't be read, is no such file, or a value does not fit; names file, villager and field.
    """
    return _checked(_load(path), path.parent)


def villagers_of(place: Path, values: Mapping[str, Any], folder: Path) -> VillagersFile:
    """Return the villagers of values as a file has them.

    Args:
        place: The source that messages name instead of a file.
        folder: The folder of the picture files.

    Raises:
        ScenarioError: A value does not fit; names villager and field.
    """
    return _checked(_loaded(place, None, dict(values)), folder)


def _checked(file: "_Loaded", folder: Path) -> VillagersFile:
    parsed = file.parse(_File, {})
    file.check(_problems(parsed.villagers))
    albums = _albums(parsed.villagers, any(file.public))
    roles = (
        Role(villager.name, tuple(villager.properties.items()), album)
        for villager, album in zip(parsed.villagers, albums, strict=True)
    )
    about = parsed.title, parsed.time, parsed.place
    return VillagersFile(file.path, tuple(roles), any(file.public), folder, *about)


@dataclass(frozen=True)
class _Loaded(YamlFile):
    """The values of a file as `_File` takes them; an error names places as the file does, and the villager."""

    is_list: bool = False
    public: tuple[bool, ...] = ()
    names: tuple[Any, ...] = ()

    def error(self, problem: Problem) -> ScenarioError:
        """Return a problem as an error that names file, line if there are lines, field and villager."""
        (*location,), words = problem
        number = location[1] if len(location) > 1 and location[0] == "villagers" else None
        if isinstance(number, int):
            if self.public[number] and len(location) > 2:
                location[2] = {public: field for field, public in _PUBLIC.items()}.get(str(location[2]), location[2])
            words += f" (villager {number + 1}, {shown(self.names[number])})" if self.names[number] else ""
        return super().error((tuple(location[1 if self.is_list else 0 :]), words))


def is_villagers_file(path: Path) -> bool:
    """Whether a path is a file of villagers, and no scenario, by its top level."""
    try:
        return path.is_file() and bool(_load(path).values["villagers"])
    except ScenarioError:
        return False


def _load(path: Path) -> _Loaded:
    try:
        if path.suffix.lower() in (".yaml", ".yml"):
            read = YamlFile.read(path)
            root, values = read.root, read.values
        else:
            text = read_text(path, MOST_BYTES).removeprefix("\ufeff")
            root, values = None, json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except (FileNotFoundError, NotFoundError):
        raise NotFoundError(f"there is no file of villagers {str(path)!r}") from None
    except OSError as error:
        raise ScenarioError(f"{path}: can't be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"{path}: not JSON: {str(error)[:300]}; the name of a YAML file ends in .yaml") from None
    return _loaded(path, root, values)


def _loaded(path: Path, root: Any, values: Any) -> _Loaded:
    is_list = isinstance(values, list)
    values = {"villagers": values} if is_list else values
    entries = values.get("villagers") if isinstance(values, dict) else None
    if not isinstance(entries, list):
        raise ScenarioError(f"{path}: takes a list of villagers, or a mapping that has one as `villagers`")
    public = tuple(isinstance(entry, dict) and bool(_PUBLIC.keys() & entry) for entry in entries)
    if any(public) and not all(public):
        number = public.index(not public[0])
        raise ScenarioError(
            f"{path}: villager {number + 1} is not of the format of villager 1; write all of them alike, with "
            "name, properties and album, or with Name and Furniture List"
        )
    renamed = [_renamed(entry) if is_public else entry for entry, is_public in zip(entries, public, strict=True)]
    names = tuple(entry.get("name") if isinstance(entry, dict) else None for entry in renamed)
    return _Loaded(path, root, {**values, "villagers": renamed}, root is not None, is_list, public, names)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of a JSON file; refuse a repeated name."""
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{shown(next(name for name in names if names.count(name) > 1))} stands twice in an object")
    return values


def _no_number(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _renamed(entry: dict[str, Any]) -> dict[str, Any]:
    properties = {name: value for name, value in entry.items() if name not in _PUBLIC}
    renamed = {field: entry[public] for public, field in _PUBLIC.items() if public in entry}
    if isinstance(renamed.get("album"), str):
        items = (item.strip() for item in _BETWEEN.split(renamed["album"]))
        renamed["album"] = [_item(item) for item in items if item]
    return renamed | {"properties": properties}


def _item(text: str) -> str | dict[str, str | None]:
    """Return an item of a furniture list; one that is not of its form is a file name, or a caption."""
    found = _ITEM.fullmatch(text)
    return {"file": text, "caption": found["caption"], "variant": found["variant"].strip() or None} if found else text


def _problems(villagers: Sequence[VillagerEntry]) -> Iterator[Problem]:
    """Yield two villagers of one name, entries without content, and files with two captions.

    Names are compared without letter case and kinds of spaces.
    """
    seen: dict[str, int] = {}
    captions: dict[str, tuple[str, str | None]] = {}
    for number, villager in enumerate(villagers):
        folded = " ".join(unicodedata.normalize("NFKC", villager.name).casefold().split())
        if (first := seen.setdefault(folded, number)) != number:
            before = f"villager {first + 1}, {shown(villagers[first].name)}"
            words = f"{shown(villager.name)} is there already, as {before}; give them names that differ"
            yield ("villagers", number, "name"), words
        for index, entry in enumerate(villager.album):
            location = ("villagers", number, "album", index)
            if entry.file is None and entry.caption is None:
                yield location, "takes a caption, or a file"
            elif entry.file and entry.caption:
                caption = (entry.caption, entry.variant)
                if (earlier := captions.setdefault(entry.file, caption)) != caption:
                    yield location, f"{shown(entry.file)} has the caption {shown(earlier[0])} elsewhere; give it one"


def _albums(villagers: Sequence[VillagerEntry], public: bool) -> list[tuple[AlbumEntry, ...]]:
    """Return everybody's album with the ids of its pictures, each of them once.

    A picture of the public format goes by its caption and variant, which are shorter than its file's name; a second
    one of the same caption by its file. In the project's own format a file goes by its name.
    """
    entries = (entry for villager in villagers for entry in villager.album)
    captioned = {entry.file: entry for entry in entries if entry.file and entry.caption}
    files: dict[str, str | None] = {}
    albums = []
    for villager in villagers:
        album = {}
        for listed in villager.album:
            entry = captioned.get(listed.file or "", listed)
            described = ": ".join(filter(None, (entry.caption, entry.variant)))
            is_first = files.setdefault(described, entry.file) == entry.file
            id = described if entry.file is None or (public and described and is_first) else entry.file
            album[id] = AlbumEntry(id, entry.caption, entry.variant, entry.file)
        albums.append(tuple(album.values()))
    return albums
