"""Names as they stand in sentences."""

from collections.abc import Sequence


def listed(names: Sequence[str]) -> str:
    """Return names as in a sentence: `Ana, Bo and Cy`; `nobody` where there are none."""
    if not names:
        return "nobody"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
