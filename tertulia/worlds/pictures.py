"""Read pictures of a folder: their size and main colours, and the small copy without metadata that is stored.

Knows nothing of villagers. A picture is decoded only after its size in pixels is known, and nothing outside its folder
is read.
"""

import os
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, MutableMapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.state.album import MOST_PIXELS, PictureFile, picture_hash
from tertulia.state.errors import NotFoundError, ScenarioError, nearest_hint
from tertulia.state.files import links_noted, open_regular, read_bytes
from tertulia.state.optional import PILLOW, importing
from tertulia.state.text import one_line
from tertulia.state.wrong_values import shown
from tertulia.worlds.yaml_file import YamlFile, complete_problem

if TYPE_CHECKING:
    from PIL.Image import Image

#: Endings of the names of picture files, and the formats that are read, with any ending.
PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")

#: The largest file that is read.
MOST_BYTES = 64 * 10**6

#: Pixels of the pictures of a population together, at most: to decode them takes ten seconds. A JPEG is decoded at an
#: eighth of its width and height.
MOST_PIXELS_TOGETHER, _DRAFTED = 10**9, 64

#: The longer side of a stored copy in pixels, at most; models see 224 to 384.
STORED_SIDE = 512

#: The file of a folder that captions its pictures.
CAPTIONS = "captions.yaml"

#: Characters of a caption, or of a name, at most.
LONGEST = 200

#: Colours by name, with the shades of each in sRGB; a pixel has the name of the shade that is nearest in CIELAB.
_SHADES: Mapping[str, tuple[str, ...]] = {
    "black": ("#000000", "#262626"),
    "grey": ("#5a5a5a", "#868686", "#b4b4b4", "#d2d2d2"),
    "white": ("#ffffff", "#f1f0ec"),
    "red": ("#d92626", "#a01622", "#e8564a"),
    "orange": ("#f08a24", "#f7b267"),
    "yellow": ("#f6d32d", "#fbeb8f", "#c9a50c"),
    "green": ("#2f9e44", "#1d5a2c", "#8fce6a", "#6b7f2a"),
    "turquoise": ("#2bb5ad", "#9fe0da", "#147a78"),
    "blue": ("#2f6fd6", "#1b2f78", "#8fc1ef", "#4aa3df", "#c3e2f7"),
    "purple": ("#7b3fb0", "#4b1f6f", "#b79ad6"),
    "pink": ("#f29ab8", "#e0408a", "#f9cfdc"),
    "brown": ("#7c4a23", "#4a2c18", "#a9713f"),
    "beige": ("#e6d2ac", "#cdb48a"),
}

#: The share of a picture that a colour must have to be named, and how many are named at most.
_NAMED_SHARE, _MOST_NAMED = 0.04, 4

#: The side of the grid of pixels that are looked at for colours.
_GRID = 64

#: The EXIF field of a picture's orientation, and those of its values that swap width and height.
_ORIENTATION, _TURNED = 0x0112, range(5, 9)


def read_picture(folder: Path, name: str, copies: MutableMapping[str, bytes]) -> PictureFile:
    """Return the size, colours and copy of a picture's file, and put its small copy into `copies`.

    The copy is upright, at most `STORED_SIDE` pixels long, on white for transparent parts, and has no
    metadata: neither place nor camera travels with a run. Of an animation it is the first frame.

    Args:
        name: The file, relative to it.

    Raises:
        NotFoundError: There is no such file.
        ScenarioError: It lies outside the folder, or can't be read, is too large, no picture, or damaged.
        UsageError: Pillow is not installed.
    """
    with importing(*PILLOW):
        from PIL import UnidentifiedImageError
        from PIL.Image import DecompressionBombError
    file = folder / name
    try:
        if not file.resolve().is_relative_to(folder.resolve()):
            raise ScenarioError(f"{_path(file)}: lies outside the folder of the pictures; copy it there")
        content = read_bytes(file, MOST_BYTES)
    except FileNotFoundError:
        raise NotFoundError(f"there is no picture {_path(file)}") from None
    except (OSError, RuntimeError) as error:  # a RuntimeError is of links that lead to each other
        raise ScenarioError(f"{_path(file)}: can't be read: {getattr(error, 'strerror', error)}") from None
    try:
        with warnings.catch_warnings(action="ignore"):  # about oddities of a file that can still be read
            width, height, image = _decoded(content)
    except UnidentifiedImageError:
        raise ScenarioError(f"{_path(file)}: is no picture of the kinds {', '.join(_FORMATS)}") from None
    except DecompressionBombError:
        most = f"{MOST_PIXELS // 10**6} million pixels"
        raise ScenarioError(f"{_path(file)}: has more than {most}, the most that is read; make it smaller") from None
    except Exception as error:  # a decoder of a damaged file raises any error: SyntaxError, IndexError, …
        raise ScenarioError(f"{_path(file)}: is damaged: {one_line(error) or type(error).__name__}") from None
    copy = _encoded(image)
    hash = picture_hash(copy)
    copies[hash] = copy
    return PictureFile(hash=hash, width=width, height=height, colours=main_colours(image))


def check_pixels(folder: Path, names: Iterable[str]) -> None:
    """Raise `ScenarioError` if pictures have too many pixels together; unreadable ones are refused when read."""
    with importing(*PILLOW):
        from PIL import Image
    pixels = 0
    for name in names:
        with (
            suppress(Exception),
            open_regular(folder / name, MOST_BYTES) as file,
            Image.open(file, formats=_FORMATS) as image,
        ):
            width, height = image.size
            pixels += width * height // (_DRAFTED if image.format == "JPEG" else 1)
        if pixels > MOST_PIXELS_TOGETHER:
            most = f"{MOST_PIXELS_TOGETHER // 10**6:,} million pixels"
            raise ScenarioError(
                f"{_path(folder)}: its pictures have more than {most} together, the most that is decoded (of a JPEG "
                f"one in {_DRAFTED} counts); make them smaller: what is stored is {STORED_SIDE} pixels long at most"
            )


def main_colours(image: "Image") -> tuple[str, ...]:
    """Return the names of a picture's main colours, the largest area first; transparent parts do not count."""
    from PIL.Image import Resampling

    pixels = np.asarray(image.convert("RGBA").resize((_GRID, _GRID), Resampling.NEAREST)).reshape(-1, 4)
    opaque = pixels[pixels[:, 3] >= 128, :3]
    if not len(opaque):
        return ()
    names = [name for name, shades in _SHADES.items() for _ in shades]
    shades = _lab(np.array([list(bytes.fromhex(s[1:])) for shades in _SHADES.values() for s in shades]))
    colours, areas = np.unique(opaque, axis=0, return_counts=True)
    nearest = ((_lab(colours)[:, None] - shades) ** 2).sum(axis=2).argmin(axis=1)
    counts: dict[str, int] = {}
    for shade, area in zip(nearest, areas, strict=True):
        counts[names[shade]] = counts.get(names[shade], 0) + int(area)
    ordered = sorted(counts, key=lambda name: -counts[name])
    enough = [name for name in ordered if counts[name] >= _NAMED_SHARE * len(opaque)]
    return tuple((enough or ordered[:1])[:_MOST_NAMED])


def list_pictures(folder: Path) -> list[str]:
    """Return the names of the picture files of a folder, sorted; no other files, hidden ones, links and subfolders.

    Raises:
        NotFoundError: There is no such folder.
        ScenarioError: It is no folder, can't be read or has no pictures; or the name of one can't be stored.
    """
    try:
        names = [name for name in _named_like_pictures(folder) if not os.path.islink(folder / name)]
    except FileNotFoundError:
        raise NotFoundError(f"there is no folder {_path(folder)} of pictures") from None
    except (OSError, ValueError) as error:  # a ValueError is of a NUL in the name
        words = getattr(error, "strerror", error)
        raise ScenarioError(f"{_path(folder)}: can't be read as a folder of pictures: {words}") from None
    if not names:
        links = f" ({links[0]})" if (links := linked_pictures(folder)) else ""
        endings = ", ".join(PICTURE_ENDINGS)
        raise ScenarioError(f"{_path(folder)}: has no pictures; their names end in {endings}{links}")
    for name in names:
        if problem := text_problem(name):
            raise ScenarioError(f"{_path(folder)}: the name {shown(name)} {problem}; rename the file")
    return names


def linked_pictures(folder: Path) -> tuple[str, ...]:
    """Return a line about pictures and captions of a folder that are links, as a tuple; empty without any."""
    names = [*_named_like_pictures(folder), CAPTIONS]
    return links_noted([ascii(name)[1:-1] for name in names if os.path.islink(folder / name)], folder)


def _named_like_pictures(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if is_picture(name) and not name.startswith("."))


def read_captions(folder: Path, names: list[str]) -> dict[str, tuple[str, str | None]]:
    """Return captions and variants, from `captions.yaml` or the pictures' names; `ScenarioError` if it is wrong."""
    captions: dict[str, tuple[str, str | None]] = {name: (caption_of(name), None) for name in names}
    if not os.path.lexists(folder / CAPTIONS) or os.path.islink(folder / CAPTIONS):
        return captions
    file = YamlFile.read(folder / CAPTIONS)
    if not isinstance(file.values, dict):
        raise file.error(((), "takes a mapping of names of pictures to captions"))
    for name, text in file.values.items():
        if name not in captions:
            raise file.error(((str(name),), f"there is no such picture here{nearest_hint(str(name), names)}"))
        try:
            captions[name] = split_caption(checked_text(text))
        except ValueError as error:
            raise file.error(((str(name),), str(error))) from None
    return captions


def is_picture(name: str) -> bool:
    """Return whether the name of a file ends like that of a picture."""
    return name.lower().endswith(PICTURE_ENDINGS)


def caption_of(name: str) -> str:
    """Return the caption that the name of a file makes: `red_door.jpg` is a red door."""
    return one_line(Path(name).stem.replace("_", " ")) or name


def split_caption(text: str) -> tuple[str, str | None]:
    """Return the caption and the variant of a text such as `hanging terrarium: Black`; `None` for no variant."""
    caption, _, variant = (part.strip() for part in text.partition(": "))
    return (caption, variant) if caption and variant else (text, None)


def checked_text(value: Any) -> str:
    """Return a stripped text; `ValueError` (`PydanticCustomError`) for no text, or one unfit for a line."""
    if not isinstance(value, str):
        hint = " (if this is one, put it in quotes)" if isinstance(value, bool | int | float) else ""
        raise complete_problem(f"takes a text, not {shown(value)}{hint}")
    text = value.strip()
    if problem := text_problem(text):
        raise complete_problem(f"{problem}: {shown(text)}")
    return text


def text_problem(text: str) -> str | None:
    """Return why a text can't be shown on a line or can't be stored; `None` if it can."""
    if not text:
        return "is empty"
    if len(text) > LONGEST:
        return f"takes {LONGEST} characters at most, not {len(text):,}"
    if text.isprintable():
        return None
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "is not in UTF-8"
    joiners = "\u200c\u200d"  # scripts of India and emoji need them
    if any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c not in joiners for c in text):
        return "has a line break or a control character"
    return None


def _decoded(content: bytes) -> tuple[int, int, "Image"]:
    """Return the width and height of a picture, and its small copy, upright, in RGB or RGBA."""
    from PIL import Image, ImageOps

    with Image.open(BytesIO(content), formats=_FORMATS) as image:
        width, height = image.size
        if width * height > MOST_PIXELS:
            raise Image.DecompressionBombError
        if image.getexif().get(_ORIENTATION) in _TURNED:
            width, height = height, width
        side = (STORED_SIDE, STORED_SIDE)
        image.draft(None, side)  # a JPEG is decoded at a fraction of its size
        if image.mode.startswith("I"):  # 16 bits
            copy = image.point(lambda value: value / 257).convert("L").convert("RGB")
        else:
            copy = image.convert("RGBA" if image.has_transparency_data else "RGB")
        copy.thumbnail(side)
        return width, height, ImageOps.exif_transpose(copy)


def _encoded(image: "Image") -> bytes:
    from PIL import Image

    flat = Image.new("RGB", image.size, "white")  # a new one has no metadata
    flat.paste(image, mask=image.getchannel("A") if image.mode == "RGBA" else None)
    files = [BytesIO(), BytesIO()]
    flat.save(files[0], "PNG")
    flat.save(files[1], "JPEG", quality=90)
    return min((file.getvalue() for file in files), key=len)


def _lab(colours: np.ndarray) -> np.ndarray:
    """Return sRGB colours (N, 3) from 0 to 255 in CIELAB, for the white of daylight, D65."""
    values = colours / 255.0
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = linear @ to_xyz.T / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def _path(path: Path) -> str:
    """Return a path for a message: as it is if it can be printed, else with escapes."""
    return str(path) if str(path).isprintable() else ascii(str(path))
