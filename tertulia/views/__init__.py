"""How a stored run is read, measured and worded, for whoever shows it."""
