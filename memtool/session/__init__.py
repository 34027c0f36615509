"""Turns of a unit of work -> a small matrix that leans what is asked next."""
