"""A search -> a record that can be replayed and explained."""
