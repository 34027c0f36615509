"""Notes -> the text of `MEMORY.md` and its pages."""
