"""Bytes -> a note: its lines, its front matter, its encoding."""
