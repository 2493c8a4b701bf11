"""Pictures of a folder: what is read of them, what is stored, and what is refused."""

import os
import struct
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw
from PIL.PngImagePlugin import PngInfo
from support.cpu_time import cpu_time_below

from benchmarks.drawing import draw, drawings
from tertulia.state.album import PictureFile
from tertulia.state.errors import NotFoundError, ScenarioError
from tertulia.worlds.pictures import (
    MOST_BYTES,
    STORED_SIDE,
    list_pictures,
    read_captions,
    read_picture,
)
from tertulia.worlds.villagers import PICTURES


def picture(size: tuple[int, int] = (60, 40), colour: str = "#d62f2f") -> Image.Image:
    return Image.new("RGB", size, colour)


def read(file: Path) -> tuple[PictureFile, Image.Image]:
    """Return what is known of a picture, and its copy."""
    copies: dict[str, bytes] = {}
    known = read_picture(file.parent, file.name, copies)
    assert [*copies] == [known.hash]
    return known, Image.open(BytesIO(copies[known.hash]))


def test_size_and_main_colours_are_those_of_the_file(tmp_path: Path) -> None:
    drawn = picture((300, 200), "#1b2f78")
    ImageDraw.Draw(drawn).rectangle((0, 0, 90, 200), fill="#f6d32d")
    drawn.save(tmp_path / "flag.png")
    known, copy = read(tmp_path / "flag.png")
    assert (known.width, known.height, known.colours) == (300, 200, ("blue", "yellow"))
    assert copy.size == (300, 200)
    assert np.array_equal(np.asarray(copy), np.asarray(drawn)), "small and plain: nothing is lost"


def test_the_copy_is_small_and_keeps_its_shape(tmp_path: Path) -> None:
    picture((3000, 1000)).save(tmp_path / "wide.jpg")
    known, copy = read(tmp_path / "wide.jpg")
    assert ((known.width, known.height), copy.width) == ((3000, 1000), STORED_SIDE)
    assert copy.height == pytest.approx(STORED_SIDE / 3, abs=1)


def test_no_metadata_is_stored(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010F] = "the maker of my camera"
    exif.get_ifd(0x8825)[2] = (52.0, 30.0, 1.0)
    picture().save(tmp_path / "photo.jpg", exif=exif, comment=b"my street", icc_profile=b"profile of my screen")
    text = PngInfo()
    text.add_text("Author", "my name")
    picture().save(tmp_path / "drawn.png", pnginfo=text, exif=exif, icc_profile=b"profile of my screen")
    for name in ("photo.jpg", "drawn.png"):
        copies: dict[str, bytes] = {}
        read_picture(tmp_path, name, copies)
        (stored,) = copies.values()
        assert not [secret for secret in (b"my ", b"camera", b"Exif", b"eXIf") if secret in stored]
        assert not Image.open(BytesIO(stored)).getexif()


def test_orientation_is_applied(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90° clockwise: what is left is up
    drawn = picture((80, 40), "#ffffff")
    ImageDraw.Draw(drawn).rectangle((0, 0, 20, 40), fill="#000000")
    for name in ("turned.jpg", "turned.png"):
        drawn.save(tmp_path / name, exif=exif)
        known, copy = read(tmp_path / name)
        assert (known.width, known.height, copy.size) == (40, 80, (40, 80))
        grey = np.asarray(copy.convert("L"))
        assert (grey[5].mean() < 30, grey[-5].mean() > 220) == (True, True)


def test_transparent_parts_have_no_colour_and_are_white_in_the_copy(tmp_path: Path) -> None:
    drawn = Image.new("RGBA", (50, 50), (255, 0, 0, 0))
    ImageDraw.Draw(drawn).rectangle((10, 10, 40, 40), fill="#2f9e44")
    drawn.save(tmp_path / "leaf.png")
    Image.new("RGBA", (50, 50)).save(tmp_path / "nothing.png")
    known, copy = read(tmp_path / "leaf.png")
    assert known.colours == ("green",)
    assert copy.convert("RGB").getpixel((2, 2)) == (255, 255, 255)
    assert read(tmp_path / "nothing.png")[0].colours == ()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_every_mode_is_read(tmp_path: Path, mode: str) -> None:
    white = np.full((30, 30), 65535, np.uint16)
    drawn = Image.fromarray(white) if mode == "I;16" else picture((30, 30), "#ffffff").convert(mode)
    assert drawn.mode == mode
    name = "white.jpg" if mode == "CMYK" else "white.png"
    drawn.save(tmp_path / name)
    known, copy = read(tmp_path / name)
    assert (known.colours, copy.mode) == (("white",), "RGB")


def test_of_an_animation_the_first_frame_is_read(tmp_path: Path) -> None:
    frames = [picture((20, 20), colour) for colour in ("#2f9e44", "#d62f2f")]
    frames[0].save(tmp_path / "blink.gif", save_all=True, append_images=frames[1:])
    assert read(tmp_path / "blink.gif")[0].colours == ("green",)


def test_16_bits_are_scaled_not_cut(tmp_path: Path) -> None:
    Image.fromarray(np.full((30, 30), 128 * 257, np.uint16)).save(tmp_path / "middle.png")
    known, copy = read(tmp_path / "middle.png")
    assert (known.colours, copy.getpixel((3, 3))) == (("grey",), (128, 128, 128))


def text_file(at: Path) -> None:
    at.write_text("I am no picture")


def truncated(at: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (200, 200, 3), np.uint8)
    file = BytesIO()
    Image.fromarray(noise).save(file, "PNG")
    at.write_bytes(file.getvalue()[:60_000])


def bomb(at: Path) -> None:
    """Of such a picture only the beginning, which states its size."""
    picture().save(at)
    header = b"IHDR" + struct.pack(">2I", 60_000, 60_000) + at.read_bytes()[24:29]
    content = at.read_bytes()
    at.write_bytes(content[:12] + header + struct.pack(">I", zlib.crc32(header)) + content[33:])


def large(at: Path) -> None:
    Image.new("1", (8000, 7000)).save(at)


def giant_file(at: Path) -> None:
    at.touch()
    os.truncate(at, 10**9)


def link_outside(at: Path) -> None:
    picture().save(at.parent.parent / "outside.png")
    at.symlink_to(at.parent.parent / "outside.png")


def link_to_itself(at: Path) -> None:
    at.symlink_to(at)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (text_file, "is no picture of the kinds PNG, JPEG, GIF, WEBP, BMP"),
        (truncated, "is damaged: "),
        (bomb, "has more than 50 million pixels, the most that is read"),
        (large, "has more than 50 million pixels, the most that is read"),
        (giant_file, f"it is larger than {MOST_BYTES // 10**6} MB"),
        (os.mkfifo, "it is a pipe, not a regular file"),
        (link_outside, "lies outside the folder of the pictures; copy it there"),
        (link_to_itself, "can't be read"),
    ],
)
def test_bad_pictures_are_refused_fast(tmp_path: Path, make: Callable[[Path], None], words: str) -> None:
    file = tmp_path / "album" / "x.png"
    file.parent.mkdir()
    make(file)
    copies: dict[str, bytes] = {}
    with cpu_time_below(2), pytest.raises(ScenarioError) as caught:
        read_picture(file.parent, file.name, copies)
    assert str(caught.value).startswith(f"{file}: ")
    assert words in str(caught.value)
    assert copies == {}


def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "album").mkdir()
    picture().save(tmp_path / "outside.png")
    for name in ("../outside.png", str(tmp_path / "outside.png")):
        with pytest.raises(ScenarioError, match="lies outside the folder"):
            read_picture(tmp_path / "album", name, {})
    with pytest.raises(NotFoundError, match=r"there is no picture .*inside\.png"):
        read_picture(tmp_path / "album", "inside.png", {})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (b"a\xff.png", "is not in UTF-8"),
        (b"a\nb.png", "has a line break or a control character"),
        (b"a\x1b[2J.png", "has a line break or a control character"),
        ("a\u202egnp.png".encode(), "has a line break or a control character"),
        (None, "has no pictures"),
    ],
)
def test_folders_that_are_refused(tmp_path: Path, name: bytes | None, words: str) -> None:
    if name is not None:
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))).touch()
    with pytest.raises(ScenarioError) as caught:
        list_pictures(tmp_path)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


def test_captions_are_those_of_the_folder_else_of_the_names(tmp_path: Path) -> None:
    (tmp_path / "captions.yaml").write_text('red_door.jpg: the door of the bakery\nx.png: "a cup: blue"\n')
    names = ["red_door.jpg", "x.png", "old  green_boat.png"]
    assert read_captions(tmp_path, names) == {
        "red_door.jpg": ("the door of the bakery", None),
        "x.png": ("a cup", "blue"),
        "old  green_boat.png": ("old green boat", None),
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nred_dor.jpg: x\n", r":1: a: there is no such picture here"),
        ("red_dor.jpg: x\n", r"\(did you mean 'red_door.jpg'\?\)"),
        ('red_door.jpg: ""\n', "red_door.jpg: is empty"),
        ('red_door.jpg: "a\\nb"\n', "red_door.jpg: has a line break"),
        ("[a]\n", "takes a mapping of names of pictures to captions"),
    ],
)
def test_captions_that_are_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "captions.yaml").write_text(text)
    with pytest.raises(ScenarioError, match=words):
        read_captions(tmp_path, ["red_door.jpg"])


@pytest.mark.full
@pytest.mark.parametrize("name", drawings())
def test_what_is_shipped_is_what_the_script_draws(name: str) -> None:
    shipped, drawn = Image.open(PICTURES / name), draw(drawings()[name])
    assert np.array_equal(np.asarray(shipped.convert("RGB")), np.asarray(drawn.convert("RGB")))
    assert shipped.size == (128, 128)
    assert (PICTURES / name).stat().st_size < 3000
