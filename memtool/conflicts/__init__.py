"""Lines that speak of the same thing -> those that cannot both hold."""
