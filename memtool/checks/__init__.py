"""A vault -> all that is odd, with what mends it."""
