"""Exact tests of a claim on counts of fresh runs."""
