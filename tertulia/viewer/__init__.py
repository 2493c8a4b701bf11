"""A local page over a store: turns with their scores, races, forks beside their parents, towns and albums."""
