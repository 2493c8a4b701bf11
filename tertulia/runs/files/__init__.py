"""Files for others, and stores united."""
