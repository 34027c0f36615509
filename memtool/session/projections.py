"""The vectors of a vault -> the projection that session states are written with, made once and kept.

Made of a sample, so that a large vault costs little more than a small one. A state names its
projection: those that states still name stay usable while the newer serves new ones.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import numpy as np

from memtool.index.index import Index
from memtool.session import session
from memtool.session.session import Projection
from memtool.vault import Vault
from memtool.vectors import npz
from memtool.vectors.vectors import Vectors

#: Vectors that a projection is made of, at most.
SAMPLE = 4_000

#: A vault that has grown so many times since gets a new projection for new states.
GROWTH = 8

#: Files that are kept.
MOST = 6


def find(vault: Vault, fingerprint: str, ident: str) -> Projection | None:
    """Give the projection that a state was written with; None when it is gone."""
    if ident.startswith("random-") and ident[7:].isdigit() and 0 < int(ident[7:]) < 100_000:
        return session.random_basis(int(ident[7:]))
    if not ident.isalnum():
        return None
    found = _load(_folder(vault, fingerprint) / f"{ident}.npz", ident)
    return found[0] if found else None


def current(vault: Vault, fingerprint: str, vectors: Vectors, index: Index, width: int) -> Projection:
    """Give the projection for a new state, made now when there is none that fits."""
    for file in _files(_folder(vault, fingerprint)):
        found = _load(file, file.stem)
        if found and len(found[0].mean) == width and vectors.count < GROWTH * found[1]:
            return found[0]
    if vectors.count < session.TEXTS_EACH * session.DIMENSIONS:
        return session.random_basis(width)
    return _make(vault, fingerprint, vectors, index, width)


def _make(vault: Vault, fingerprint: str, vectors: Vectors, index: Index, width: int) -> Projection:
    digests = sorted(index.digests())
    sample = digests[:: max(1, -(-len(digests) // SAMPLE))]
    matrix = vectors.get(sample).astype(np.float64)
    usable = session.sound(matrix)
    if matrix.shape[1] != width or not usable.any():
        return session.random_basis(width)
    kept = [digest for digest, good in zip(sample, usable.tolist(), strict=True) if good]
    named = hashlib.sha256(b"".join(kept)).hexdigest()
    projection = session.fit(matrix[usable], source=f"{fingerprint}/{named}")
    if not projection.ident.startswith("random-"):
        _save(vault, fingerprint, projection, vectors.count)
    return projection


def _folder(vault: Vault, fingerprint: str) -> Path:
    return vault.cache / "projections" / hashlib.sha256(fingerprint.encode()).hexdigest()[:16]


def _files(folder: Path) -> list[Path]:
    """List projections, the newest first."""
    with suppress(OSError):
        return sorted(folder.glob("*.npz"), key=lambda file: (-file.stat().st_mtime_ns, file.name))
    return []


def _load(file: Path, ident: str) -> tuple[Projection, int] | None:
    """Read a projection and the number of vectors there were; None for a file that is not sound."""
    try:
        arrays = npz.load(file).arrays
        mean, basis, spread = (arrays[name].astype(np.float64) for name in ("mean", "basis", "spread"))
        count = int(arrays["count"][0])
    except (npz.DamagedError, OSError, KeyError, IndexError):
        return None
    sound = basis.ndim == 2 and mean.shape == basis.shape[1:] and spread.shape == basis.shape[:1]
    if not sound or not all(np.isfinite(part).all() for part in (mean, basis, spread)) or (spread <= 0).any():
        return None
    return Projection(mean, basis, spread, ident), count


def _save(vault: Vault, fingerprint: str, projection: Projection, count: int) -> None:
    """Keep a projection; where that fails, it is only made again."""
    if (vault.cache / "projections").is_symlink() or _folder(vault, fingerprint).is_symlink():
        return  # a vault's owner may lay links that lead out of it
    with suppress(OSError):
        folder = vault.prepare(_folder(vault, fingerprint))
        arrays = {name: getattr(projection, name).astype("<f4") for name in ("mean", "basis", "spread")}
        npz.save(folder / f"{projection.ident}.npz", {**arrays, "count": np.array([count], "<i8")})
        for file in _files(folder)[MOST:]:
            file.unlink(missing_ok=True)
