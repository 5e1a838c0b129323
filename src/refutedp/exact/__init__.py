"""Probabilities of rare outputs by enumerating the paths of a mechanism, without any sampling."""
