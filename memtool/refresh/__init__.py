"""A folder -> rows brought up to date, at the cost of what changed."""
