"""What was shown, opened and helped -> counts."""
