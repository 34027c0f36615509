"""One open vault -> all that can be asked of it and done to it: the rooms joined, the doors' one way in."""
