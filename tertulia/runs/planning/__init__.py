"""From a user's request to a run that can be driven: begun, forked, reopened, with its seats."""
