"""Turns and other texts -> those that say most, each cited."""
