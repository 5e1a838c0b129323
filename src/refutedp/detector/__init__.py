"""The steps of a check."""
