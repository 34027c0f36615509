"""``python -m memtool``."""

from memtool.cli.main import run

run()
