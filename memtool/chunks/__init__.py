"""A note -> the runs of lines that are scored, and the pieces that are embedded."""
