"""Results as JSON, and back."""
