"""The rooms joined: one open vault, and all that can be asked of it and done to it."""
