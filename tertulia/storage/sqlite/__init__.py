"""A store in one SQLite file: its connection, locks, and what SQLite itself must be asked."""
