"""Draw the pictures that are shipped: `python -m benchmarks.drawing` writes tertulia/worlds/albums/pictures/*.png.

drawings.yaml beside them has the drawings: by the name of a picture, its shapes from the back to the front, a
line each, on a square of 100 by 100 whose origin is the upper left corner.

| line | shape |
|---|---|
| `fill COLOUR` | the whole square |
| `rect COLOUR x0 y0 x1 y1 [radius]` | a rectangle, perhaps with rounded corners |
| `oval COLOUR x y rx ry` | an ellipse around x, y |
| `poly COLOUR x y x y x y …` | a polygon |
| `line COLOUR width x y x y …` | a line with round ends and corners |
| `arc COLOUR width x y rx ry from to` | a part of an ellipse's line; degrees, clockwise from the right |
| `pie COLOUR x y rx ry from to` | a sector of an ellipse |
"""

from PIL import Image, ImageDraw

from tertulia.worlds.villagers import PICTURES
from tertulia.worlds.yaml_file import YamlFile

#: The side of a picture in pixels, how much larger it is drawn, and how many colours it has at most.
SIDE, ZOOM, COLOURS = 128, 4, 32

#: Names of colours; others are written as `#rrggbb`.
PAINTS = {
    "black": "#1e1e22",
    "white": "#fbfbf8",
    "grey": "#8d929a",
    "silver": "#c9ced4",
    "slate": "#4b5563",
    "red": "#d62f2f",
    "wine": "#8e1b2c",
    "orange": "#f08a24",
    "yellow": "#f7d02c",
    "cream": "#fbf0cf",
    "sand": "#e6cf9c",
    "brown": "#7c4a23",
    "bark": "#4f2e18",
    "tan": "#b9814a",
    "green": "#2f9e44",
    "forest": "#1d5a2c",
    "leaf": "#86c95f",
    "teal": "#1c8c8a",
    "mint": "#bfe8d6",
    "sky": "#bfe1f7",
    "blue": "#2c66cf",
    "navy": "#1b2f6b",
    "sea": "#4aa3d8",
    "purple": "#7740a8",
    "lilac": "#d6c3ea",
    "pink": "#f29ab8",
    "rose": "#fbdbe4",
    "skin": "#e9b48c",
    "night": "#141a38",
}


def draw(shapes: str) -> Image.Image:
    """Return a picture of these lines, smooth at its edges, with few colours."""
    scale = SIDE * ZOOM / 100
    image = Image.new("RGB", (SIDE * ZOOM, SIDE * ZOOM), PAINTS["white"])
    canvas = ImageDraw.Draw(image)
    for line in shapes.splitlines():
        kind, paint, *written = line.split()
        _draw_shape(canvas, kind, PAINTS.get(paint, paint), [float(number) for number in written], scale)
    return image.reduce(ZOOM).quantize(COLOURS, dither=Image.Dither.NONE)


def _draw_shape(canvas: ImageDraw.ImageDraw, kind: str, paint: str, numbers: list[float], scale: float) -> None:
    thick = round(numbers.pop(0) * scale) if kind in ("line", "arc") else 0
    points = [number * scale for number in numbers]
    match kind:
        case "fill":
            canvas.rectangle((0, 0, 100 * scale, 100 * scale), fill=paint)
        case "rect":
            canvas.rounded_rectangle(points[:4], radius=points[4] if len(points) > 4 else 0, fill=paint)
        case "oval":
            canvas.ellipse(_box(points), fill=paint)
        case "poly":
            canvas.polygon(points, fill=paint)
        case "line":
            canvas.line(points, fill=paint, width=thick, joint="curve")
            for end in (points[:2], points[-2:]):
                canvas.ellipse(_box([*end, thick / 2, thick / 2]), fill=paint)
        case "arc":
            canvas.arc(_box(points), numbers[4], numbers[5], fill=paint, width=thick)
        case "pie":
            canvas.pieslice(_box(points), numbers[4], numbers[5], fill=paint)
        case _:
            raise ValueError(f"there is no shape {kind!r}")


def _box(points: list[float]) -> list[float]:
    x, y, rx, ry = points[:4]
    return [x - rx, y - ry, x + rx, y + ry]


def drawings() -> dict[str, str]:
    """Return the shapes of all pictures by the names of their files."""
    shapes: dict[str, str] = YamlFile.read(PICTURES / "drawings.yaml").values
    return shapes


if __name__ == "__main__":
    for name, shapes in drawings().items():
        draw(shapes).save(PICTURES / name, optimize=True)
