"""A store in one SQLite file: its connection, its locks, and questions that only SQLite answers."""
