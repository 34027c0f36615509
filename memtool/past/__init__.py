"""A moment -> the vault as it was, searched like the present."""
