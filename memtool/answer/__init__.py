"""Hits and what they were found in -> an answer that accounts for itself."""
