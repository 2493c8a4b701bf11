"""Populations of album chats: the shipped villagers, those of a file, and the pictures of their albums.

The first N villagers are the same for any number of villagers, and so are their albums.
"""

import os
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from datetime import datetime
from itertools import islice, product
from pathlib import Path

from tertulia.state.album import Picture, Population, Villager
from tertulia.state.errors import NotFoundError, ScenarioError, SettingError
from tertulia.state.parameters.album import AGENTS, AlbumParameters
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Persona
from tertulia.state.wrong_values import shown
from tertulia.worlds.pictures import (
    caption_of,
    check_pixels,
    linked_pictures,
    list_pictures,
    read_captions,
    read_picture,
)
from tertulia.worlds.villagers_file import AlbumEntry, Role, VillagersFile, read_villagers
from tertulia.worlds.yaml_file import YamlFile

#: The shipped files: 32 villagers, names from which more are made, and 60 pictures.
ALBUMS = Path(__file__).parent / "albums"
SHIPPED, NAMES, PICTURES = ALBUMS / "villagers.yaml", ALBUMS / "names.yaml", ALBUMS / "pictures"

#: The time of a meeting of villagers whose file has none.
_TIME = datetime(2026, 5, 16, 10)

#: Keys the draws of populations, which are the same in every run.
_SEED = 0


def read_population(scenario: str, parameters: AlbumParameters, copies: MutableMapping[str, bytes]) -> Population:
    """Return the population of an album chat: the shipped villagers, or those of the file that parameters name.

    Args:
        parameters: Which villagers, how many, and which pictures; those of a run have them too.
        copies: Gets the copies of the pictures that are to be stored, by their hash.

    Raises:
        NotFoundError: There is no such file or folder, or a picture is missing.
        ScenarioError: A file or a picture can't be read, or a villager has no album.
        SettingError: So many agents there are not, or a single one.
    """
    is_shipped = parameters.villagers is None
    file = read_villagers(SHIPPED if parameters.villagers is None else Path(os.path.expanduser(parameters.villagers)))
    return population_of(scenario, file, parameters, copies, is_shipped)


def population_of(
    scenario: str,
    file: VillagersFile,
    parameters: AlbumParameters,
    copies: MutableMapping[str, bytes],
    is_shipped: bool = False,
) -> Population:
    """Return the villagers of a file that take part in an album chat, with the pictures of their albums.

    Args:
        parameters: How many take part, and which pictures.
        copies: Gets the copies of the pictures that are to be stored, by their hash.
        is_shipped: Whether they are the shipped villagers, of which there can be more than the file has.

    Raises:
        NotFoundError: A picture is missing.
        ScenarioError: A file or a picture can't be read, or a villager has no album.
        SettingError: So many agents there are not, or a single one.
    """
    roles = _taking_part(file, parameters.agents, is_shipped)
    given = PICTURES if is_shipped and parameters.pictures is None else parameters.pictures
    folder = file.folder if given is None else Path(os.path.expanduser(given))
    captions: Mapping[str, tuple[str, str | None]] = {}
    links: tuple[str, ...] = ()
    if given is not None:
        names, links = list_pictures(folder), linked_pictures(folder)
        captions = read_captions(folder, names)
        if parameters.pictures is not None and (is_shipped or not _names_pictures(file, names)):
            roles = _dealt(roles, names, parameters.album_pictures)
    if without := next((role.name for role in roles if not role.album), None):
        raise ScenarioError(
            f"{file.path}: {shown(without)} has no album; list captions or pictures there, or set pictures=FOLDER"
        )
    albums = [role.album[-parameters.album_pictures :] for role in roles]
    entries: dict[str, tuple[AlbumEntry, str]] = {}
    for role, album in zip(roles, albums, strict=True):
        for entry in album:
            entries.setdefault(entry.id, (entry, role.name))
    present = set(captions) if file.is_public else None
    named = (entry.file for entry, _ in entries.values())
    check_pixels(folder, [name for name in named if name is not None and (present is None or name in present)])
    return Population(
        scenario=scenario,
        withheld=links,
        title=file.title or caption_of(file.path.name),
        time=file.time or _TIME,
        place=file.place,
        villagers=tuple(
            Villager(persona=Persona(name=role.name), properties=role.properties, album=tuple(e.id for e in album))
            for role, album in zip(roles, albums, strict=True)
        ),
        pictures=tuple(_picture(*owned, folder, captions, present, copies) for owned in entries.values()),
    )


def _taking_part(file: VillagersFile, agents: int | None, is_shipped: bool) -> Sequence[Role]:
    """Return the first of a file's villagers; if the shipped ones are too few, more are made."""
    if agents == 1:
        raise SettingError("agents", agents, ": an album chat needs two or more, who meet in pairs")
    if len(file.roles) < 2:
        has = "one villager" if file.roles else "no villagers"
        raise ScenarioError(f"{file.path}: has {has}; an album chat needs two or more, who meet in pairs")
    if agents is None or agents <= len(file.roles):
        return file.roles[: min(AGENTS, len(file.roles)) if agents is None else agents]
    if not is_shipped:
        raise SettingError("agents", agents, f": {file.path} has {len(file.roles):,} villagers")
    names = _names()
    most = len(names["given"]) * len(names["family"]) ** 2
    if agents > most:
        raise SettingError("agents", agents, f": there are names for {most:,} villagers; give more as villagers=FILE")
    return [*file.roles, *islice(_further(file.roles, names), agents - len(file.roles))]


def _further(roles: Sequence[Role], names: Mapping[str, Sequence[str]]) -> Iterator[Role]:
    """Yield villagers made of the parts of others, for as long as there are names; each is the same in every run.

    Every property is drawn from the others' values of it, the album from all their pictures.
    """
    taken = {role.name for role in roles}
    properties = [dict(role.properties) for role in roles]
    entries = list({entry.id: entry for role in roles for entry in role.album}.values())
    size = len(roles[0].album)
    for name in _full_names(**names):
        if name in taken:
            continue
        draw = keyed_generator(_SEED, agent=name, node="make_villager")
        drawn = tuple((key, draw.choice(properties)[key]) for key in properties[0])
        yield Role(name, drawn, tuple(draw.sample(entries, size)))


def _full_names(given: Sequence[str], family: Sequence[str]) -> Iterator[str]:
    """Yield every given name once before one comes again; after all family names are used, two are joined."""
    for apart, lap in product(range(len(family)), repeat=2):
        for place, name in enumerate(given, start=lap):
            first, second = (family[at % len(family)] for at in (place, place + apart))
            yield f"{name} {first}-{second}" if apart else f"{name} {first}"


def _dealt(roles: Sequence[Role], names: Sequence[str], size: int) -> list[Role]:
    """Return villagers with albums of these pictures instead of their own, dealt round a shuffled pack.

    Every picture is dealt before one is dealt again, and no villager has a picture twice.
    """
    draw = keyed_generator(_SEED, node="deal_pictures")
    pack: list[str] = []
    dealt = []
    for role in roles:
        album: dict[str, AlbumEntry] = {}
        while len(album) < min(size, len(names)):
            if all(name in album for name in pack):
                pack += draw.sample(names, len(names))
            name = pack.pop(next(place for place, name in enumerate(pack) if name not in album))
            album[name] = AlbumEntry(id=name, file=name)
        dealt.append(Role(role.name, role.properties, tuple(album.values())))
    return dealt


def _names_pictures(file: VillagersFile, names: Sequence[str]) -> bool:
    """Return whether the albums of a file name pictures of a folder; those of its own format are to be there."""
    named = {entry.file for role in file.roles for entry in role.album} - {None}
    return bool(named & set(names) if file.is_public else named)


def _picture(
    entry: AlbumEntry,
    owner: str,
    folder: Path,
    captions: Mapping[str, tuple[str, str | None]],
    present: set[str] | None,
    copies: MutableMapping[str, bytes],
) -> Picture:
    file = entry.file if present is None or entry.file in present else None
    caption, variant = entry.caption, entry.variant
    if caption is None:
        caption, known = captions.get(entry.file or "") or (caption_of(Path(entry.file or entry.id).name), None)
        variant = variant or known
    try:
        read = None if file is None else read_picture(folder, file, copies)
    except (NotFoundError, ScenarioError) as error:
        raise type(error)(f"{error} (in the album of {shown(owner)})") from None
    return Picture(id=entry.id, caption=caption, variant=variant, file=read)


def _names() -> dict[str, list[str]]:
    names: dict[str, list[str]] = YamlFile.read(NAMES).values
    return names
