"""The values of `scored_layers`: over which layers attention is summed."""

#: Values instead of numbers.
LAYER_CHOICES = ("auto", "all", "full")


def read_layers(setting: str) -> tuple[int, ...]:
    """Return the layers of a setting such as `0,5,11`, ascending, each once.

    Raises:
        ValueError: It is no list of numbers.
    """
    parts = [part.strip() for part in setting.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ValueError(f"{setting!r} is none of {', '.join(LAYER_CHOICES)}, nor numbers of layers such as 0,5,11")
    return tuple(sorted({int(part) for part in parts}))
