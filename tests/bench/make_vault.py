"""Any text -> a vault of a given size: notes of about five kilobytes, cut from what is given.

    python tests/bench/make_vault.py DEST SOURCE [SOURCE ...] [--files 13000] [--bytes 5000] [--latin]

SOURCE is a file or a folder; Markdown, reStructuredText, text and Python files in it are used.
Each note gets a title of its own, and every hundredth a word that stands nowhere else.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path

ENDINGS = (".md", ".markdown", ".rst", ".txt", ".py")


def paragraphs(sources: list[Path]) -> Iterator[str]:
    for source in sources:
        files = [source] if source.is_file() else sorted(f for f in source.rglob("*") if f.suffix in ENDINGS)
        for file in files:
            try:
                text = file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            yield from (part for part in blocks(text) if 20 < len(part) < 4000)


def blocks(text: str) -> Iterator[str]:
    """Part a text at blank lines, but not inside a fence."""
    block, fence = [], ""
    for line in text.split("\n"):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        if line.strip() or fence:
            block.append(line)
        elif block:
            yield "\n".join(block)
            block = []
    if block and not fence:
        yield "\n".join(block)


def notes(parts: list[str], size: int) -> Iterator[str]:
    number, endless = 0, itertools.cycle(parts)
    while True:
        number += 1
        body, length = [], 0
        while length < size:
            part = next(endless)
            if len(body) % 4 == 0:
                body.append(f"## {' '.join(part.split()[:5]).strip('#=-` ') or 'Part'}")
            body.append(part)
            length += len(part.encode()) + 2
        rare = f"\n\nThe rare word here is zyx{number:05d}.\n" if number % 100 == 0 else "\n"
        yield f"# Note {number}: {' '.join(body[1].split()[:6])}\n\n" + "\n\n".join(body) + rare


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dest", type=Path)
    parser.add_argument("sources", type=Path, nargs="+")
    parser.add_argument("--files", type=int, default=13_000)
    parser.add_argument("--bytes", type=int, default=5_000)
    parser.add_argument("--latin", action="store_true", help="leave out text of scripts without spaces")
    options = parser.parse_args()
    parts = list(paragraphs(options.sources))
    if options.latin:
        parts = [part for part in parts if not any("\u3000" <= character <= "\ud7a3" for character in part)]
    old = time.time() - 86_400
    total = 0
    for number, text in enumerate(itertools.islice(notes(parts, options.bytes), options.files), 1):
        file = options.dest / f"part-{number % 130:03d}" / f"note-{number:05d}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        total += file.write_bytes(text.encode("utf-8", "replace"))
        os.utime(file, (old, old))
    print(f"{options.files} notes, {total / 1e6:.1f} MB from {len(parts)} paragraphs")


if __name__ == "__main__":
    main()
