"""The machinery around the steps: what a node is, the places of the graphs, guards, the registry, extensions."""
