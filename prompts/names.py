"""Names as they stand in sentences."""

from collections.abc import Sequence

from state.languages import DEFAULT

#: By language, what stands between names, what stands before the last one, and who is there where nobody is.
_WORDS = {DEFAULT: (", ", " and ", "nobody"), "zh": ("、", "和", "没有人")}


def listed(names: Sequence[str], language: str = DEFAULT) -> str:
    """Return names as in a sentence: `Ana, Bo and Cy`; `nobody` where there are none."""
    between, before_last, nobody = _WORDS.get(language, _WORDS[DEFAULT])
    if not names:
        return nobody
    return before_last.join(filter(None, (between.join(names[:-1]), names[-1])))
