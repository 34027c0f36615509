"""Changed notes -> commits that say in words what changed, and who made them."""
