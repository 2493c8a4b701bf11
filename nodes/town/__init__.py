"""Steps of a town: encounters, the memories of them, and reflections on these. Source: Park et al. 2023."""
