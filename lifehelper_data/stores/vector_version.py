"""What is known about a published version of a vector table, and where its rows are kept.

`<table>.snapshots/<tag>.json` holds the facts, `<tag>.ids.npy` and `<tag>.vectors.npy` the rows by
ascending id, `<tag>.codes` a quantised copy of many rows (see `vector_codes`). They are a cache:
what is missing is made again from the tagged version.
"""

import json
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import NotFound, Unavailable
from lifehelper_data.stores.atomic import replace_file, write_json
from lifehelper_data.stores.vector_codes import save_codes, wants_codes
from lifehelper_data.stores.vector_files import VectorFiles
from lifehelper_data.stores.vector_rows import (
    VECTOR,
    Ints,
    VectorRows,
    Vectors,
    content_digest,
    read_rows,
)

_ATTEMPTS: Final = 3  # gc may renumber the versions behind the tags between two reads


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorVersion:
    """A published version of a vector table.

    Attributes:
        name: what the vectors are of.
        vector_space_id: the space they lie in.
        dim: their length.
        version: Lance's number of it when it was published. The tag is its name: gc renumbers.
        tag: "c-" and the first 16 hex digits of the content digest.
        rows: how many.
        content_digest: hex sha256 of ids, text digests and space.
        indexed: whether an approximate index covers all rows; else search is exact.
        recall: recall@10 of the index over 200 sampled rows; None without an index.
        probes: partitions a search of the index looks into; None without an index.
    """

    name: str
    vector_space_id: str
    dim: int
    version: int
    tag: str
    rows: int
    content_digest: str
    indexed: bool
    recall: float | None
    probes: int | None


def tag_of(digest: str) -> str:
    """Return the tag of the version with a content digest."""
    return f"c-{digest[:16]}"


def open_tagged(files: VectorFiles, tag: str) -> Any:
    """Return Lance's table at a tag.

    Raises:
        NotFound: there is no such table or tag.
        Unavailable: it is damaged.
    """
    table = files.open_table()
    with files.readable():
        if tag not in table.tags.list():
            raise NotFound(
                f"vector table {files.shown!r} has no version {tag!r}; run `lifehelper build`"
            )
        table.checkout(tag)
    return table


def read_tagged(files: VectorFiles, tag: str) -> tuple[int, VectorRows, bool]:
    """Return Lance's version number, the rows, and whether there is an index, of a tag."""
    for attempt in range(_ATTEMPTS):
        try:
            table = open_tagged(files, tag)
            rows = read_rows(files, table)
            with files.readable():
                return int(table.version), rows, bool(vector_indexes(table))
        except Unavailable:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError


def vector_indexes(table: Any) -> list[str]:
    """Return the names of the indexes over the vectors."""
    return sorted(index.name for index in table.list_indices() if index.columns == [VECTOR])


def tag_faults(files: VectorFiles, tag: str, rows: VectorRows) -> list[str]:
    """Return what is wrong with the rows of a tag."""
    dim = rows.vectors.shape[1]
    faults = rows.faults("item")
    digest = content_digest(files.vector_space_id, dim, rows.item_ids, rows.digests)
    if tag_of(digest) != tag:
        faults.append(f"ids and text digests give {tag_of(digest)!r}")
    return faults


def save_snapshot(files: VectorFiles, version: VectorVersion, rows: VectorRows) -> None:
    """Keep a version's arrays and facts; each file is whole or absent, the facts come last."""
    files.snapshots.mkdir(parents=True, exist_ok=True)
    for derived in (files.version_facts(version.tag), files.cached_codes(version.tag)):
        derived.unlink(missing_ok=True)
    _save(files.cached_ids(version.tag), rows.item_ids)
    _save(files.cached_vectors(version.tag), rows.vectors)
    if wants_codes(version.rows):
        save_codes(files, version.tag, rows.vectors)
    write_json(files.version_facts(version.tag), asdict(version))


def load_facts(files: VectorFiles, tag: str) -> VectorVersion | None:
    """Return what is known about a tag; None if nothing is kept or it cannot be read."""
    try:
        version = VectorVersion(**json.loads(files.version_facts(tag).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None  # a cache
    meant = (files.name, files.vector_space_id, tag)
    return version if (version.name, version.vector_space_id, version.tag) == meant else None


def map_arrays(files: VectorFiles, version: VectorVersion) -> tuple[Ints, Vectors] | None:
    """Return the kept arrays; None if they are missing, cut short or of another shape."""
    try:
        ids = np.load(files.cached_ids(version.tag), allow_pickle=False)
        path = files.cached_vectors(version.tag)
        if version.rows:
            vectors = np.load(path, mmap_mode="r", allow_pickle=False)
        else:  # nothing cannot be mapped
            vectors = np.load(path, allow_pickle=False)
    except (FileNotFoundError, ValueError, EOFError):
        return None
    if ids.shape != (version.rows,) or vectors.shape != (version.rows, version.dim):
        return None
    return ids, np.asarray(vectors)


def _save(target: Path, array: npt.NDArray[Any]) -> None:
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("wb") as handle:
            np.save(handle, array)
        replace_file(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
