"""Stored records of runs, read: turns, rounds, exchanges, days; compared, replayed, and as JSON documents."""
