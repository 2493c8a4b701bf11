"""Pack a store as the shipped example: `python -m tertulia.viewer.example STORE`."""

import sys
from pathlib import Path

from tertulia.viewer.example import packed

content = packed(Path(sys.argv[1]))
Path(__file__).with_name("store.db.xz").write_bytes(content)
print(f"{len(content) / 1e6:.2f} MB")
