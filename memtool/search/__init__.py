"""A query and an index -> hits, best first."""
