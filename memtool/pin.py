"""Lines -> their digest; a digest and other lines -> where the pinned lines are, or what is left of them.

A digest covers the text of lines and not their ends, so that a checkout that turns LF into CRLF
breaks no pin. Pure: knows nothing of files and of git.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from memtool import runs
from memtool.lexical import fold, is_wide
from memtool.note.anchor import Anchor

SHORT = 12  # hex digits: for lines of one vault more than enough, and short enough to be quoted

#: Below this share of common words a text in the old one's place is another text.
ALIKE = 0.25
#: A text that was moved and rewritten at once must be this much alike to be known again.
KNOWN_AGAIN = 0.5
#: Lines hashed at most in looking for a digest whose text nobody knows.
_MOST_HASHED = 3_000_000
#: Lines compared at most in looking for a text that was rewritten.
_LONGEST = 40
_RUNS = re.compile(r"\w+")

Span = tuple[int, int]
"""First and last line, from 1, both included."""


def digest(lines: Sequence[str]) -> str:
    """Give the SHA-256 of lines in hex; a pin shows its beginning.

    >>> digest(["Rotate weekly."])[:SHORT]
    'ebd8af11bfd9'
    """
    text = "\n".join(lines)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def pinned(anchor: Anchor, lines: Sequence[str]) -> Anchor:
    """Pin *anchor* to what *lines*, all of the note's, say there."""
    return anchor._replace(digest=digest(cut(lines, anchor))[:SHORT])


def cut(lines: Sequence[str], anchor: Anchor) -> Sequence[str]:
    """Give the lines an anchor names; all of them for a whole note."""
    return lines[anchor.start - 1 : anchor.end] if anchor.start else lines


def stands(pin: Anchor, lines: Sequence[str]) -> bool:
    """Tell whether the pinned lines are exactly where they were."""
    return (not pin.start or pin.end <= len(lines)) and digest(cut(lines, pin)).startswith(pin.digest)


def find(pin: Anchor, lines: Sequence[str], text: Sequence[str] | None = None) -> list[Anchor]:
    """Find where else in a note the pinned lines stand, nearest to the old place first.

    With their *text* every place is compared; without, places are hashed until one is found.
    """
    if not pin.start:
        return []
    count = pin.end - pin.start + 1
    starts = sorted(range(1, len(lines) - count + 2), key=lambda start: (abs(start - pin.start), start))
    if text is None:
        most = max(1, _MOST_HASHED // count)
        hashed = (s for s in starts[:most] if digest(lines[s - 1 : s - 1 + count]).startswith(pin.digest))
        first = next(hashed, 0)
        if not first:
            return []
        text = lines[first - 1 : first - 1 + count]
    text = list(text)
    return [
        pin._replace(start=start, end=start + count - 1)
        for start in starts
        if lines[start - 1] == text[0] and list(lines[start - 1 : start - 1 + count]) == text
    ]


def spot(pin: Anchor, lines: Sequence[str], text: Sequence[str]) -> Span | None:
    """Give the nearest place of a known *text* in a note; the whole note for a whole note."""
    if stands(pin, lines):
        return (pin.start, pin.end) if pin.start else (1, len(lines))
    if not pin.start or (text and text[0] not in lines):
        return None
    return next(((place.start, place.end) for place in find(pin, lines, text)), None)


# -- what is left ----------------------------------------------------------------------------


def left(old: Sequence[str], new: Sequence[str], span: Span) -> Span | None:
    """Find what became of some lines of *old* in *new*; None when nothing of them is left.

    >>> left(["a", "keys: 30 days", "b"], ["a", "", "keys: 90 days", "b"], (2, 2))
    (3, 3)
    >>> left(["a", "keys: 30 days", "b"], ["a", "b"], (2, 2))
    """
    text = old[span[0] - 1 : span[1]]
    places = [place for place in _followed(old, new, span, text) if new[place - 1].strip()]
    if any(_RUNS.search(new[place - 1]) for place in places) or (places and not words(text)):
        return min(places), max(places)
    return _best_part(text, new, 0, len(new), KNOWN_AGAIN)


def _followed(old: Sequence[str], new: Sequence[str], span: Span, text: Sequence[str]) -> Iterator[int]:
    """Give the lines of *new* that stand where the lines of *old* stood and are still about the same."""
    first, last = span[0] - 1, span[1]
    for tag, i1, i2, j1, j2 in _opcodes(old, new):
        i, j = max(first, i1), min(last, i2)
        if i >= j or tag in ("insert", "delete"):
            continue
        if tag == "equal" or i2 - i1 == j2 - j1:
            place = range(j1 + i - i1 + 1, j1 + j - i1 + 1)
            if tag == "equal" or i2 - i1 == 1 or alike(text, [new[p - 1] for p in place]) >= ALIKE:
                yield from place
        elif best := _best_part(text, new, j1, j2, ALIKE):
            yield from range(best[0], best[1] + 1)


def _opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """Compare line by line; what both begin and end with is set aside first, which is nearly everything."""
    head, tail = runs.ends(old, new)
    yield "equal", 0, head, 0, head
    middle = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail])
    for tag, i1, i2, j1, j2 in middle.get_opcodes():
        yield tag, i1 + head, i2 + head, j1 + head, j2 + head
    yield "equal", len(old) - tail, len(old), len(new) - tail, len(new)


def _best_part(text: Sequence[str], new: Sequence[str], low: int, high: int, least: float) -> Span | None:
    """Find the run of lines between two offsets of *new* that is most like *text*, as long or shorter."""
    wanted, longest = words(text), min(len(text) + 1, _LONGEST)
    found = [words([line]) for line in new[low:high]]
    touching = [place for place, some in enumerate(found) if wanted & some]
    best: tuple[float, Span] | None = None
    for start in touching:
        inside = Counter[str]()
        for end in range(start, min(start + longest, len(found))):
            inside += found[end]
            score = _dice(wanted, inside)
            if score >= least and (best is None or score > best[0]):
                best = score, (low + start + 1, low + end + 1)
    return best[1] if best else None


def alike(one: Sequence[str], other: Sequence[str]) -> float:
    """Tell how many words two texts have in common, from 0 to 1; pairs of characters where there are none.

    >>> alike(["keys last 30 days"], ["keys last 90 days"]), alike(["合鍵は三十日"], ["合鍵は九十日"])
    (0.75, 0.6)
    """
    return _dice(words(one), words(other))


def words(lines: Sequence[str]) -> Counter[str]:
    """Count the words of a text, in scripts without spaces its pairs of characters."""
    found = Counter[str]()
    for run in _RUNS.findall(fold("\n".join(lines))):
        found.update(_parts(run))
    return found


def _parts(run: str) -> list[str]:
    if run.isascii() or not any(is_wide(character) for character in run) or len(run) < 3:
        return [run]
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _dice(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def stands_at(text: Sequence[str], body_start: int, lines: str, stamp: str) -> tuple[int, int]:
    """Find the lines that a verification covers, wherever they moved; (0, 0) when they were edited."""
    first, _, last = lines.partition("-")
    if lines == "all":
        body = text[body_start - 1 :]
        whole = len(stamp) >= 8 and digest(body).startswith(stamp)
        return (body_start, len(text)) if whole else (0, 0)
    if not (first.isdecimal() and (last or first).isdecimal()) or len(stamp) < 8 or len(lines) > 20:
        return 0, 0
    start, end = int(first), int(last or first)
    at = Anchor("", start, end, stamp)
    if not 1 <= start <= end:
        return 0, 0
    if stands(at, text):
        return start, end
    found = next(iter(find(at, text)), None)
    return (found.start, found.end) if found and found.start >= body_start else (0, 0)
