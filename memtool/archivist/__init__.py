"""A question -> an answer that cites, and a new note."""
