"""Notes -> rows in one SQLite file."""
