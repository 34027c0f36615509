"""Arguments -> output and an exit code: the commands, a file for each group.

``main`` finds the group in ``commands``; a group says its flags and does the work through `Memory` alone.
"""
