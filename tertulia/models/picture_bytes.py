"""The bytes of a picture's file as an image, and as they are sent to a server. Knows no torch."""

import base64
import io
import warnings
from typing import TYPE_CHECKING

from tertulia.state.album import MOST_PIXELS
from tertulia.state.errors import ModelError
from tertulia.state.optional import PILLOW, importing
from tertulia.state.text import one_line

if TYPE_CHECKING:
    from PIL.Image import Image

#: The formats that are read: no other decoder of Pillow sees the bytes of a picture.
_MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}


def open_picture(picture: bytes) -> "Image":
    """Return a picture in RGB, upright, with white behind its transparent parts; of several frames, the first.

    Raises:
        ModelError: The bytes are no picture that can be read.
        UsageError: Pillow is not installed.
    """
    with importing(*PILLOW):
        from PIL import Image, ImageOps
    try:
        with _opened(picture) as opened:
            upright = ImageOps.exif_transpose(opened).convert("RGBA")
        white = Image.new("RGBA", upright.size, "white")
        return Image.alpha_composite(white, upright).convert("RGB")
    except ModelError:
        raise
    except Exception as error:  # decoders of damaged files raise errors of any class
        raise ModelError(f"a picture can't be read ({one_line(error) or type(error).__name__})") from error


def as_base64(picture: bytes) -> tuple[str, str]:
    """Return the media type of a picture and its bytes in base 64.

    Raises:
        ModelError: The bytes are no picture that can be read.
        UsageError: Pillow is not installed.
    """
    try:
        with _opened(picture) as opened:
            media_type = _MEDIA_TYPES[opened.format or ""]
    except (OSError, KeyError, ValueError, SyntaxError) as error:
        raise ModelError(f"a picture can't be read ({one_line(error) or type(error).__name__})") from error
    return media_type, base64.b64encode(picture).decode("ascii")


def _opened(picture: bytes) -> "Image":
    with importing(*PILLOW):
        from PIL import Image
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of many pixels, which are refused here
        opened = Image.open(io.BytesIO(picture), formats=tuple(_MEDIA_TYPES))
    if opened.width * opened.height > MOST_PIXELS:
        raise ModelError(f"a picture has {opened.width} × {opened.height} pixels; at most {MOST_PIXELS:,} are read")
    return opened
