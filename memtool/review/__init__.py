"""What agents wrote since a person last looked, and what became of it."""
