"""An event of a coding agent -> lines for it to read, and its session kept as a note."""
