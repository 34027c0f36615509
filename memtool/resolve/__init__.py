"""A pinned anchor -> what became of its lines."""
