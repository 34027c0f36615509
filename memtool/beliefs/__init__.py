"""Notes that speak of one subject -> the one that holds at a moment."""
