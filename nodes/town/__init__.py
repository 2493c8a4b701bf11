"""Steps of a town: encounters, what is remembered of them, and what is made of that. Source: Park et al. 2023."""
