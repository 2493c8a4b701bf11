"""The Python API: runs, stores and experiments as objects. Its public names are those of `tertulia`."""
