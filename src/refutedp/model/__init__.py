"""Records that pass between all parts: mechanism, claims, adjacency, pairs, outputs, settings, errors."""
