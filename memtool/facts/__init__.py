"""Front matter and `key:: value` lines -> values and how long each stood."""
