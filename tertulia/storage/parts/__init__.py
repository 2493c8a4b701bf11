"""The parts of a store: for each kind of record how its rows are written and read."""
