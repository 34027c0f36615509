"""Calls of tools -> what is known of each, and advice for a task."""
