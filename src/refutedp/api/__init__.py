"""What users call and get back."""
