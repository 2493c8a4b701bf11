"""Records of an album chat: the villagers that meet, their pictures, and the acts of two in an exchange.

Source: the pairwise album chat, Fig. 13 to 15.
"""

import hashlib
from datetime import datetime
from functools import cached_property
from typing import Literal

from pydantic import Field

from tertulia.state.names import Names
from tertulia.state.records import HasWithheld, Memory, Participant, Record, RunKind

#: The utterances of an exchange in their order, as models are asked for them. Source: Fig. 14, S^V, S^Q and S^A.
CALLS = ("plan", "question", "answer")

#: The part of a turn that each of them is: a turn's own utterance, which has no name of a part, is the question.
PARTS = {"plan": "plan", "question": "", "answer": "answer"}

#: Whether a model saw the picture that it spoke about, or read its caption and facts.
Sight = Literal["seen", "captioned, not seen"]

#: How a picture was found that a plan means: it is named in it, or it is the most similar of the album.
Found = Literal["named", "similar"]

#: The most pixels of a picture that are decoded: a photograph of today's telephones has 12 to 50 million.
MOST_PIXELS = 50 * 10**6


def picture_hash(picture: bytes) -> str:
    """Return the content hash of a picture's bytes, under which it is stored: blake2b, 16 bytes, in hexadecimal."""
    return hashlib.blake2b(picture, digest_size=16).hexdigest()


class PictureFile(Record):
    """The properties of a picture's file that need no model.

    Attributes:
        hash: Of the stored copy (`picture_hash`, `PictureStore.save_picture`).
        width, height: Of the file, in pixels.
        colours: Its main colours by name, the largest area first.
    """

    hash: str
    width: int = Field(ge=1)
    height: int = Field(ge=1)
    colours: tuple[str, ...] = ()


class Picture(Record):
    """A picture of a population's albums.

    Attributes:
        id: Its name in the population, such as the name of its file.
        caption: Its content in a few words.
        variant: Which of several it is, such as a colour; `None` if there is only one.
        file: The file; `None` if it is not here, and only its caption is known.
    """

    id: str = Field(min_length=1)
    caption: str = Field(min_length=1)
    variant: str | None = None
    file: PictureFile | None = None

    @property
    def described(self) -> str:
        """The caption with the variant, as in Fig. 13: `hanging terrarium: Black`."""
        return self.caption if self.variant is None else f"{self.caption}: {self.variant}"


class Villager(Participant):
    """A person of a population: their role, and their album.

    Attributes:
        properties: Pairs of a property and its value, in the order in which prompts show them.
        album: Ids of their pictures, oldest first.
    """

    memories: tuple[Memory, ...] = ()
    properties: tuple[tuple[str, str], ...]
    album: tuple[str, ...] = Field(min_length=1)


class Population(HasWithheld):
    """The starting point of an album chat: the pairs that may meet. A user runs `scenario` to start it again."""

    scenario: str
    title: str
    time: datetime
    place: str | None = None
    villagers: tuple[Villager, ...] = Field(min_length=2)
    pictures: tuple[Picture, ...]

    def participant(self, name: str) -> Villager:
        """Return the villager of that name (`KeyError` if there is none)."""
        return self._by_name[name]

    def picture(self, id: str) -> Picture:
        """Return the picture of that id (`KeyError` if there is none)."""
        return self._by_id[id]

    @property
    def kind(self) -> RunKind:
        """The kind of run that starts here."""
        return "album_chat"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all villagers, in order."""
        return Names(villager.persona.name for villager in self.villagers)

    def present(self, sim_time_s: float) -> tuple[str, ...]:
        """Return the names of the people there after so many seconds: always all."""
        return self.names

    @cached_property
    def _by_name(self) -> dict[str, Villager]:
        return {villager.persona.name: villager for villager in self.villagers}

    @cached_property
    def _by_id(self) -> dict[str, Picture]:
        return {picture.id: picture for picture in self.pictures}


class Pairs(Record):
    """The pairs of a round, stored under its first turn.

    Attributes:
        pairs: Asker and answerer, in the order of their turns.
        resting: The villager that meets nobody, if their number is odd.
    """

    pairs: tuple[tuple[str, str], ...]
    resting: str | None = None


class Exchange(Record):
    """The acts of two in an exchange besides their words; stored under its turn.

    Attributes:
        asker, answerer: The one that showed a picture and asked, and the one that answered.
        found: How the picture was found that the plan means.
        similarity: Cosine of the plan to the picture, or to its caption; `None` if it is named.
        sight: Whether the two saw the picture, or read its caption.
        passed: Whether the picture went into the answerer's album, which lacked it before.
        dropped: The id of the picture that left that album for it.
    """

    asker: str
    answerer: str
    picture: str
    found: Found
    similarity: float | None = None
    sight: Sight
    passed: bool = False
    dropped: str | None = None
