"""Parameters of album chat: the pairs, their prompts, and their memory. Source: the pairwise album chat."""

from typing import Annotated, Literal

from pydantic import Field

from tertulia.state.parameters.group import ParameterGroup

Setting = Literal["low", "high"]

#: How many villagers take part by default, if there are so many. Source: the public simulation.
AGENTS = 64


#: Parameters that name a file or a folder: a value that only a file sets is read if the user trusts that file.
NAME_FILES = ("villagers", "pictures")


class AlbumParameters(ParameterGroup):
    """Album chat: the pairs that meet, how they are asked, and how much they keep."""

    setting: Setting = Field(
        "low",
        description="low: they are asked simply; high: to behave as themselves, and why (pairwise album chat, Fig. 13 "
        "to 15)",
    )
    villagers: str | None = Field(
        None, description="a file with villagers and their albums; unset: those that are shipped"
    )
    pictures: str | None = Field(None, description="a folder with pictures for their albums; unset: those of the file")
    agents: Annotated[int, Field(ge=1)] | None = Field(
        None, description=f"how many villagers take part, the first of them; unset: all, at most {AGENTS}"
    )
    history_records: int = Field(3, ge=0, description="exchanges that each remembers, the latest")
    album_pictures: int = Field(10, ge=1, description="pictures in an album, the latest")
    pass_pictures: bool = Field(True, description="the picture goes into the album of who answers")
    sight: Literal["auto", "pictures", "captions"] = Field(
        "auto", description="what the model gets of a picture; auto: the picture where it can see"
    )
    picture_model: str | None = Field(
        None, description="a model like CLIP that finds the picture a plan means; unset: the embedder, by captions"
    )
