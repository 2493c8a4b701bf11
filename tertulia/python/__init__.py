"""The objects and functions of the public Python API."""
