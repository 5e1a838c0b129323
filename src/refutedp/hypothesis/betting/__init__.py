"""E-processes: evidence that is valid whenever one stops."""
