"""Two versions of one note -> one, for git."""
