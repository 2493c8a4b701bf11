"""Only wiring, in the papers' order. Nothing is built at import time."""
