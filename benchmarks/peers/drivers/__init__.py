"""One script a system. It runs in that system's own virtual environment and knows nothing of Tertulia's."""
