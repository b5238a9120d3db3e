"""A quick look at a source: did a file change? Contents are not read."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from lifehelper_data.sources.mapping import load_mapping, matching_files


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFingerprint:
    """What a source's folder looks like.

    Attributes:
        digest: changes when a file is added, removed or written; None for a source without files.
        files: number of files, the mapping left out.
        size_bytes: their bytes.
    """

    digest: str | None
    files: int
    size_bytes: int


def source_fingerprint(mapping_file: Path) -> SourceFingerprint:
    """Look at the mapping and every file it names: path, size and time of the last write.

    Raises:
        NotFound, MappingError: as when loading.
    """
    mapping = load_mapping(mapping_file)
    files = [
        path
        for spec in mapping.files.values()
        for path in matching_files(spec, mapping_file.parent)
    ]
    seen = hashlib.sha256()
    size_bytes = 0
    for path in [mapping_file, *files]:
        found = path.stat()
        seen.update(f"{path}|{found.st_size}|{found.st_mtime_ns}\n".encode())
        size_bytes += found.st_size if path != mapping_file else 0
    return SourceFingerprint(
        digest=seen.hexdigest() if files else None, files=len(files), size_bytes=size_bytes
    )
