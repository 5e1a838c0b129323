"""Values of many runs at once: numbers, arrays, and what Python and NumPy do with them."""
