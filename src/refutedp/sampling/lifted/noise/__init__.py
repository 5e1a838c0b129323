"""Draws of many runs at once: distributions, paired runs, importance sampling."""
