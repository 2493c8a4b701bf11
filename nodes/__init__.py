"""One cognition step per file: a thin `(state, runtime) -> update` around a pure function."""
