"""Whether the parts a release names are there."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lifehelper_data.domain.release import ArtifactFile, Part, ReleaseContent

CHUNK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something wrong with a stored file.

    Attributes:
        path: the file, relative to the workspace.
        what: what is wrong with it.
        remedy: what to do.
    """

    path: str
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


REBUILD: Final = (
    "restore the file from a copy, or remove it and run `lifehelper build`, which makes it again"
)


def all_parts(content: ReleaseContent) -> list[Part | ArtifactFile]:
    """Return every file of a release: parts by table and bucket, then files of artifacts."""
    return [
        *(part for name in sorted(content.tables) for part in content.tables[name].parts),
        *(file for name in sorted(content.artifacts) for file in content.artifacts[name].files),
    ]


def size_problems(root: Path, content: ReleaseContent) -> Iterator[Problem]:
    """Yield the parts that are missing or of another size; reads no part."""
    for part in all_parts(content):
        problem = size_problem(root, part)
        if problem is not None:
            yield problem


def size_problem(root: Path, part: Part | ArtifactFile) -> Problem | None:
    """Return what a look at the folder says is wrong with a part."""
    try:
        size = (root / part.path).stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return Problem(path=part.path, what="missing", remedy=REBUILD)
    if size != part.size_bytes:
        what = f"{size} bytes instead of {part.size_bytes}"
        return Problem(path=part.path, what=what, remedy=REBUILD)
    return None


def file_sha256(path: Path) -> str:
    """Return the hex SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
