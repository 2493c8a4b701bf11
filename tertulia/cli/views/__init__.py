"""What commands print of runs: a module for each kind of thing."""
