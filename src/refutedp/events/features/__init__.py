"""What is looked at in an output: values, lengths, keys, digits, differences."""
