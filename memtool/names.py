"""A name -> what it is: note, skipped folder, conflict copy, or unfit for a new note.

Pure text work, no file is looked at. Whether a name exists is the vault's business; here the answer
to a hostile name is the same whether or not something lies behind it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

SUFFIXES = (".md", ".markdown")
PATH_BYTES = 900  # below the vault; macOS takes 1,024 for a whole path
STEM_BYTES = 190  # with `-2` and `.md` it stays under 200; file systems take 255, other tools add to names
RESERVED = {"con", "prn", "aux", "nul", "conin$", "conout$", "memory"} | {
    port + digit for port in ("com", "lpt") for digit in "0123456789¹²³"
}

# Patterns are compiled when first used: a search of plain names needs none of them.
_SKIPPED = {"node_modules", "__pycache__", "~"}
_UNFIT = r'[<>:"|?*\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]'
_ENCODED = r"(?i)%(?:2e|2f|5c|00)"
_ODD = r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\\]"
# Looks like nothing, yet Unicode counts it as a letter or a symbol.
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"

_CONFLICT = (
    r"(?i)\([^()]*conflict(?:ed)? copy[^()]*\)"  # Dropbox, Nextcloud, Obsidian
    r"|\([^()]*(?:case|encoding|whitespace|sync) conflict[^()]*\)"  # Dropbox
    r"|[(（][^()（）]*競合[^()（）]*[)）]"  # the same services in Japanese
    r"|\(sfconflict [^()]*\)"  # Seafile
    r"|\.sync-conflict-\d{8}"  # Syncthing
    r"|_conflict-\d{4}"  # ownCloud
    r"|\[conflict(?: \d+)?\]|_conf\(\d+\)"  # Google Drive
    r"|\.conflict\d*\.\w+$"  # Resilio
    r"|_(?:backup|base|local|remote)_\d+\.\w+$"  # git mergetool
)
_NUMBERED = r"^(.+) ?\(\d+\)(\.\w+)$"


def is_note(name: str) -> bool:
    """Tell a note's file name from hidden, temporary and other files.

    >>> [name for name in ("a.md", "B.MD", ".#a.md", "a.md~", "a.md.swp", "~$a.md", ".md") if is_note(name)]
    ['a.md', 'B.MD']
    """
    return name.lower().endswith(SUFFIXES) and not name.startswith((".", "~$"))


def is_skipped(folder: str) -> bool:
    """Tell folders that never hold notes: hidden ones, tool folders, and `~` or `C:` as a name."""
    return folder.startswith(".") or folder in _SKIPPED or (folder[1:] == ":" and folder.isascii())


def is_path(path: str) -> bool:
    r"""Tell whether *path* could name a note inside a vault: by its spelling alone.

    >>> [path for path in ("ops/a.md", "../a.md", "/a.md", "~/a.md", "C:/a.md", "a//b.md") if is_path(path)]
    ['ops/a.md']
    """
    *folders, name = path.split("/")
    if "\0" in path or _climbs(path) or not is_note(name) or not all(folders):
        return False
    return is_text(path) and not any(is_skipped(folder) for folder in folders)


def _climbs(path: str) -> bool:
    return "\\" in path and ".." in path.replace("\\", "/").split("/")


def is_text(name: str) -> bool:
    """Tell a name that is valid UTF-8 on disk: others arrive with lone surrogates in them."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_odd(name: str) -> bool:
    """Tell a name that cannot be shown as it stands: control or direction characters, backslashes."""
    return re.search(_ODD, name) is not None


def printable(name: str) -> str:
    r"""Escape what would break a line, hide text, or cannot be encoded.

    >>> print(printable("tab\there.md"), printable("caf\udce9.md"), printable("設計.md"))
    tab\there.md caf\xe9.md 設計.md
    """
    return re.sub(_ODD, _escape, name)


def one_line(text: str) -> str:
    """Make text fit for one line of a message or of a list.

    >>> one_line("asked\\nto")
    'asked to'
    """
    return printable(" ".join(text.split()))


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()


def key(name: str) -> str:
    """Give the form in which two names are one file somewhere: case and Unicode composition set aside.

    >>> key("Config.md") == key("CONFIG.md"), key("が.md") == key("か\u3099.md")
    (True, True)
    """
    if name.isascii():
        return name.lower()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFC", name).casefold())


def is_conflict_copy(path: str, taken: Collection[str]) -> bool:
    """Tell a copy that a sync service or a merge left; ``a (1).md`` only where ``a.md`` is in *taken*.

    >>> is_conflict_copy("a (conflicted copy 2026-01-02).md", ()), is_conflict_copy("a (1).md", {"a.md"})
    (True, True)
    >>> is_conflict_copy("a (1).md", ()), is_conflict_copy("conflict-resolution.md", ())
    (False, False)
    """
    if re.search(_CONFLICT, path.rpartition("/")[2]):
        return True
    numbered = re.match(_NUMBERED, path)
    return numbered is not None and (numbered[1].rstrip(" ") + numbered[2]) in taken


def objection(path: str) -> str:
    """Say why no new note should be called *path*, or give "" when it may.

    >>> objection("ops/con.md"), objection("--all.md")
    ('`con` is a reserved name on Windows', '')
    """
    if not is_path(path):
        return "it is not a plain path of a note below the vault"
    if len(path.encode()) > PATH_BYTES:
        return "it is too long"
    return next(filter(None, map(_part_objection, path.split("/"))), "")


def _part_objection(part: str) -> str:
    from unicodedata import normalize

    stem = part.split(".")[0].lower()
    if unfit := re.search(_UNFIT, part):
        return f"it holds `{printable(unfit.group())}`"
    if re.search(_ENCODED, part) or not normalize("NFKC", part).strip(". "):
        return "it reads like a way out of the folder"
    if part != part.strip() or part.endswith("."):
        return "it begins or ends with a space or a dot"
    if stem in RESERVED - {"memory"}:
        return f"`{stem}` is a reserved name on Windows"
    return "it is too long" if len(part.encode()) > 255 else ""


def stem(title: str, *, limit: int = STEM_BYTES) -> str:
    """Make a file name, suffix left out, that every system takes and a person can see.

    Letters of any script, digits and emoji stay; all else becomes ``-``.

    >>> [stem(title) for title in ("Rotate the key", "設計メモ: 第2版", "../a/b", "???", "CON", "🎉🎉")]
    ['rotate-the-key', '設計メモ-第2版', 'a-b', 'note', 'note-con', '🎉🎉']
    """
    from unicodedata import normalize

    text = "".join(map(_keep, normalize("NFC", title).lower()))
    text = re.sub(r"\.(?:md|markdown)$", "", re.sub(r"\.{2,}", ".", text))
    text = _trim(re.sub(r"[-\s]*-[-.\s]*", "-", text))
    text = _trim(text.encode()[:limit].decode(errors="ignore"))
    if not any(character.isalnum() or not character.isascii() for character in text):
        return "note"
    return f"note-{text}" if text.split(".")[0] in RESERVED else text


def _keep(character: str) -> str:
    from unicodedata import category

    kind = category(character)
    if character in "-_+.\u200d" or (kind[0] in "LNM" and character not in _BLANK):
        return character
    if kind in ("So", "Sk") and not character.isascii() and character not in _BLANK:
        return character
    return "" if kind in ("Cf", "Cn", "Co", "Cs") else "-"


def _trim(text: str) -> str:
    """Cut separators from both ends, and marks that would hang on nothing."""
    from unicodedata import category

    text = text.strip("-. \u200d")
    while text and category(text[0])[0] == "M":
        text = text[1:].lstrip("-. \u200d")
    return text
