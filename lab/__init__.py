"""What is found out about stored runs: a model is asked about them, and the papers' tables are made."""
