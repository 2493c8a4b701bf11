"""Pictures of a store file, by the hash of their bytes: each is stored once, and read back only as it was written."""

from typing_extensions import override

from tertulia.state.album import picture_hash
from tertulia.state.store import PictureStore
from tertulia.storage.faults import damaged
from tertulia.storage.parts.contents import Contents


class Pictures(Contents, PictureStore):
    """Pictures of a store file."""

    @override
    def save_picture(self, picture: bytes) -> str:
        content = picture_hash(picture)
        self.file.write("INSERT INTO pictures (hash, image) VALUES (?, ?) ON CONFLICT DO NOTHING", content, picture)
        return content

    @override
    def picture(self, content: str) -> bytes:
        rows = self.file.rows("SELECT image FROM pictures WHERE hash = ?", content)
        if not rows:
            raise self._missing("picture", content)
        image = rows[0]["image"]
        if not isinstance(image, bytes) or picture_hash(image) != content:
            raise damaged(self.path, f"the picture {content} does not match its hash")
        return image
