"""Models behind an API: requests and their retries, answers and how they are read, servers and their pace."""
