"""Copies of a function that work on columns."""
