"""Sources of pairs of adjacent inputs, and the search for arguments."""
