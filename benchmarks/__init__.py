"""Measurements of the product, in folders by their subject; `support` is found as in the tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))
