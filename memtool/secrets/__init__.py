"""Text -> the likely secrets in it, and the same text with them masked.

Each file here knows one way to tell: by the form of a key, by the words beside it, by the value alone.
`scan` puts them together. detect-secrets is one of the ways, and is loaded when a line is worth it.
"""

from __future__ import annotations

from memtool.secrets.scan import Secret, find, mask, new_in

__all__ = ["Secret", "find", "mask", "new_in"]
