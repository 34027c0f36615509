"""Notes -> who points at whom, by which relation, and the paths between them."""
