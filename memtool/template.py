"""The template -> a new vault: which files are laid out where, then laying them out.

The only room that knows where the template lies. An existing file is never touched.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from memtool import places, repository
from memtool.errors import ConflictError, VaultError
from memtool.vault import Vault


class Plan(NamedTuple):
    """What `apply` will do."""

    folder: Path
    new: tuple[str, ...]  # paths of files that are not there yet
    occupied: bool  # the folder has content of its own
    git: bool  # a repository will be made


class Made(NamedTuple):
    """What `apply` did."""

    folder: Path
    new: tuple[str, ...]
    git: bool
    remark: str


def source() -> Path:
    """Find the template: inside an installed package, beside the package in a checkout."""
    package = Path(__file__).resolve().parent
    for place in (package / "vault_template", package.parent / "vault_template"):
        if place.is_dir():
            return place
    raise VaultError(
        "the vault template is missing", why=f"it is not beside {package}", fix="install memtool again"
    )


def plan(folder: str | Path, *, notes: bool = True, git: bool = True) -> Plan:
    """Decide what a vault at *folder* needs; changes nothing."""
    root = Path(os.path.realpath(folder))
    places.refuse_git_folders(root)
    if root.exists() and not root.is_dir():
        raise VaultError(f"{folder} is not a folder", fix="name a folder, or a place where one can be made")
    template = source()
    paths = sorted(file.relative_to(template).as_posix() for file in template.rglob("*") if file.is_file())
    new = tuple(path for path in paths if not os.path.lexists(root / path)) if notes else ()
    try:
        occupied = root.is_dir() and any(name not in (".git", ".memtool") for name in os.listdir(root))
    except OSError as error:
        raise _refused(root, error) from error
    return Plan(root, new, occupied and bool(new), git and repository.find_work_tree(root) is None)


def apply(planned: Plan) -> Made:
    """Lay the files out and make the repository; a missing git is a remark, for search works without.

    Files go through the vault's own door: nothing is overwritten, and no link is followed out.
    """
    root = planned.folder
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refused(root, error) from error
    vault = Vault.open(root)
    vault.prepare(vault.cache)
    with vault.lock():
        new = tuple(path for path in planned.new if _lay_out(vault, path))
    remark = _make_repository(root) if planned.git else ""
    return Made(root, new, planned.git and not remark, remark)


def _lay_out(vault: Vault, path: str) -> bool:
    """Create one file; say no when somebody else just did."""
    try:
        vault.replace(path, (source() / path).read_bytes(), base=None)
    except ConflictError:
        return False
    return True


def _refused(root: Path, error: OSError) -> VaultError:
    return VaultError(
        f"no vault can be made at {root}",
        why=(error.strerror or str(error)).lower(),
        fix="name a place that you may write",
    )


def _make_repository(root: Path) -> str:
    from memtool.git import Git

    try:
        Git(root).init()
    except VaultError as error:
        return f"no history is kept: {error.what}"
    return ""
