"""Research on stored runs: models annotate them, and the papers' tables are made."""
