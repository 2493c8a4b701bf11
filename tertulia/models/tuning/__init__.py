"""Teaching a local model: low-rank adapters on frozen weights, and their files."""
