"""The output of commands about runs: a module for each kind of thing."""
