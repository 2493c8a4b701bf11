"""English words by which an English sentence is found in a text that shall be German, French or Spanish."""

import re

_WORD = re.compile(r"[^\W\d][\w'’]+")

#: Common words that none of these languages has: hardly a sentence is without one.
COMMON = frozenset(
    re.findall(
        r"\w+",
        "the you your what with they of and this that is it now who how have to for from by at here be been do does did"
        " say says said their them there which when about than only nothing nobody answer should would are was were"
        " something somebody speak talk talking",
    )
) - {"was"}  # German


def words_of(text: str) -> set[str]:
    """Return the words of a text in lower case, variables of templates left out."""
    return set(_WORD.findall(re.sub(r"\$\w+", "", text).casefold()))
