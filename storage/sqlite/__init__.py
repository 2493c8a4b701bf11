"""A store in one SQLite file: its connection, locks, migrations, and what SQLite itself must be asked."""
