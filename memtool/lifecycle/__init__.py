"""Notes, their use and the time -> a plan of what rests, comes back, is merged or folded."""
