"""sqlite-utils, imported without pandas.

It imports pandas for one entry of one table, if that is installed: a fifth of a second and 60 MB for every
command that opens a store.
"""

import sys

_absent = "pandas" not in sys.modules
if _absent:
    sys.modules["pandas"] = None  # type: ignore[assignment]  # `import pandas` fails meanwhile, as if it were missing
try:
    from sqlite_utils import Database
finally:
    if _absent:
        del sys.modules["pandas"]

__all__ = ["Database"]
