"""The machinery around the steps: the class of nodes, the places of the graphs, guards, the registry, extensions."""
