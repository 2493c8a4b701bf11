"""The documents that the viewer's pages show, each under a path, from the records of a store."""
