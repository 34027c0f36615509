"""Changed paths -> a vault kept up to date."""
