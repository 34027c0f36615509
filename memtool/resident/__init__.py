"""A request on a local socket -> the answer of a vault held open."""
