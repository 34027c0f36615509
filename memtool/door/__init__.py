"""An intended change -> a changed note, committed in the name of who made it."""
