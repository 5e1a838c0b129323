"""What lifted, symbolic and noise-free runs share."""
