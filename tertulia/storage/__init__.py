"""One SQLite file: runs, contents by hash, turns, candidates, checkpoints. Knows no model, graph or template."""
