"""Text -> lines that fit a terminal, plain ones too: widths, colours where they are wanted, questions.

Line by line, with no control of the cursor: it works over any connection and can be piped.
"""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator

from memtool.cli import render

_COLOURS = {"+": "32", "-": "31", "@": "36"}
_NEXT = "    "  # before the rest of a line that was too long
_LEAST = 20


def columns() -> int:
    """Tell how wide the terminal is; 80 where nobody knows."""
    return max(_LEAST, shutil.get_terminal_size((80, 24)).columns)


def width(text: str) -> int:
    """Count the columns of *text*: wide characters take two, marks that join others none.

    >>> width("ab"), width("畑の水"), width("が")
    (2, 6, 2)
    """
    return sum(map(_width, text))


def _width(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def folded(text: str, most: int) -> Iterator[str]:
    """Cut a line into lines of at most *most* columns, those after the first indented.

    >>> list(folded("+畑の水", 5))
    ['+畑の', '    水']
    """
    line, used = "", 0
    for character in text:
        if used + _width(character) > most and line.strip():
            yield line
            line, used = _NEXT, len(_NEXT)
        line, used = line + character, used + _width(character)
    yield line


def shortened(text: str, most: int) -> str:
    """Cut what is longer than *most* columns.

    >>> shortened("畑の水やり", 7)
    '畑の水…'
    """
    if width(text) <= most:
        return text
    kept = ""
    for character in text:
        if width(kept) + _width(character) > most - 1:
            break
        kept += character
    return f"{kept}…"


def is_coloured() -> bool:
    """Tell whether colours are wanted: on a terminal that has some, unless NO_COLOR says no."""
    dumb = os.environ.get("TERM", "") in ("", "dumb")
    return not dumb and not os.environ.get("NO_COLOR") and sys.stdout.isatty()


def say(text: str = "") -> None:
    """Print a line, folded; what could drive the terminal is escaped."""
    for line in folded(render.one_line(text), columns()):
        print(line.rstrip())


def diff(line: str, *, coloured: bool) -> None:
    """Print one line of a diff."""
    colour = _COLOURS.get(line[:1], "") if coloured else ""
    for part in folded(render.one_line(line).replace("\t", "    "), columns()):
        print(f"\x1b[{colour}m{part}\x1b[0m" if colour else part)


def ask(question: str) -> str | None:
    """Ask for one line; None at the end of the input."""
    print(render.one_line(question), end=" ", flush=True)
    line = sys.stdin.readline()
    if not line or not sys.stdin.isatty():  # nobody saw the end of a line
        print()
    if not line:
        return None
    return unicodedata.normalize("NFKC", line).strip()
