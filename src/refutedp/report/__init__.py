"""Results for people: text, progress and, on top, files."""
