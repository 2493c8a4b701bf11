"""Steps in a folder per graph, one step per file: a thin `(state, runtime) -> update` around a pure function."""
