"""Hits, turns and pins -> one text within a budget."""
