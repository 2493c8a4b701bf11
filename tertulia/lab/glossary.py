"""The terms that terminal, page and documentation explain, a sentence each.

`glossary.json` has the terms of conversations and experiments, and the page is built with it; measures are described in
`papers/metrics.yaml`. Nothing is described twice.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tertulia.lab.reports.papers import Metric, metrics_by_name

#: A cell of a table: alone between the ends of a line, tabs, or at least two spaces.
_CELL = r"(?:^|\t|  )({})(?=$|\t|  )"


@dataclass(frozen=True)
class Term:
    """A term and its sentence.

    Attributes:
        sentence: Without the term; with unit and range if it is a figure.
        seen: The words by which output uses it.
        is_cell: Whether only a whole cell of a table is the term, as for names of measures.
        source: The section of the paper whose term it is; empty: ours.
    """

    name: str
    sentence: str
    seen: tuple[str, ...]
    is_cell: bool = False
    source: str = ""

    def found_in(self, text: str) -> str | None:
        """Return the words by which a text uses the term; `None` if it does not."""
        words = "|".join(sorted(map(re.escape, self.seen), key=len, reverse=True))
        pattern = _CELL if self.is_cell else r"(?<![\w-])({})(?![\w-])"
        found = re.search(pattern.format(words), text, re.MULTILINE | re.IGNORECASE)
        return found and found[1]


@cache
def glossary() -> tuple[Term, ...]:
    """Return all terms, those of measures last."""
    terms = json.loads(files("tertulia.lab").joinpath("glossary.json").read_text(encoding="utf-8"))
    known = {word for name, term in terms.items() for word in term.get("seen", [name])}
    return (
        *(
            Term(name, term["says"], tuple(term.get("seen", [name])), source=term.get("source", ""))
            for name, term in terms.items()
        ),
        *(
            Term(measure.title, _in_a_sentence(measure), _names(name, measure.title), is_cell=True)
            for name, measure in metrics_by_name().items()
            if measure.title not in known
        ),
    )


def terms_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the terms that a printed text uses, in the order of the glossary, each with its sentence.

    A measure is called as the text calls it, by its title or its name.
    """
    for term in glossary():
        found = term.found_in(text)
        if found is not None:
            yield found if term.is_cell else term.name, term.sentence


def _names(name: str, title: str) -> tuple[str, ...]:
    """Return how tables call a measure: by its name, its title, or its title in a name's form."""
    return (name, title, title.replace(" ", "_"), title.partition(" (")[0])


def _in_a_sentence(measure: Metric) -> str:
    direction = f"; {measure.more_varied} is more varied" if measure.more_varied else ""
    return f"{measure.meaning}{_range(measure)}{direction}"


def _range(measure: Metric) -> str:
    least, most = (f"{bound:g}" for bound in measure.bounds)
    if least == "-inf":
        return "" if most == "inf" else f"; at most {most}"
    return f"; {least} or more" if most == "inf" else f"; from {least} to {most}"
