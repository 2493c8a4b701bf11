"""What the rehearsal says, in words that a test gives."""

import pytest

from tertulia.models import rehearsed_words
from tertulia.models.rehearsed_words import Words


def rehearse_in(
    monkeypatch: pytest.MonkeyPatch,
    *,
    openings: tuple[str, ...],
    remarks: tuple[str, ...],
    endings: tuple[str, ...],
    comments: tuple[str, ...],
    topics: tuple[str, ...],
) -> None:
    """Let new runs rehearse in these sentences about these topics alone: a prompt's own words may be keys of forms."""
    words = Words(
        openings=openings,
        remarks=remarks,
        endings=endings,
        comments=comments,
        named="{}",
        topic=lambda _, generator: generator.choice(topics),
    )
    monkeypatch.setattr(rehearsed_words, "WORDS", words)
